//! A test that the shown tools are those that can be called, for registries of any shape.
use proptest::{collection::vec, prelude::*};

use super::*;

const DOMAINS: [&str; 3] = ["desk", "shop", "shed"];
const PACKS: [&str; 4] = ["core", "more", "web", "gone"];
const CONTEXT: [&str; 2] = ["context_tools_add", "context_tools_remove"];

#[derive(Debug, Clone)]
struct Shape {
    place: Option<(&'static str, Option<&'static str>)>,
    is_write: bool,
    is_disabled: bool,
    has_alias: bool,
}

prop_compose! {
    fn any_shape()(
        place in option::of((select(DOMAINS.to_vec()), option::of(select(PACKS[..3].to_vec())))),
        is_write in any::<bool>(),
        is_disabled in proptest::bool::weighted(0.2),
        has_alias in any::<bool>(),
    ) -> Shape {
        Shape { place, is_write, is_disabled, has_alias }
    }
}

type Any = Registry<u32, VisibilityUpdate>;

fn registry_of(shapes: &[Shape], to_choose: bool) -> Any {
    let domain = |name: &str| (name.to_owned(), Domain::new("core").packs(["more", "web"]));
    let domains = DOMAINS.map(domain).into_iter();
    let domains = domains.fold(Domains::new(), |all, (name, domain)| all.with(name, domain));
    let mut builder = Any::builder();
    builder = if to_choose {
        builder.domains_to_choose(domains)
    } else {
        builder.domains(domains)
    };
    for (n, shape) in shapes.iter().enumerate() {
        let name = format!("tool{n}");
        let mut spec = if shape.is_write {
            ToolSpec::write(&name, "Writes.")
        } else {
            ToolSpec::read(&name, "Reads.")
        };
        if let Some((domain, pack)) = shape.place {
            spec = spec.domain(domain);
            if let Some(pack) = pack {
                spec = spec.pack(pack);
            }
        }
        if shape.is_disabled {
            spec = spec.disabled();
        }
        if shape.has_alias {
            spec = spec.also_called(format!("alias{n}"));
        }
        builder = builder.function(spec, |_, _: NoArguments| Ok("ok"));
    }
    builder.build().unwrap()
}

prop_compose! {
    fn any_view()(
        domain in option::of(select([DOMAINS.as_slice(), &["moon"]].concat())),
        packs in btree_set(select(PACKS.to_vec()), 0..4),
        only in option::weighted(0.3, btree_set(0usize..12, 0..8)),
        disabled in btree_set(0usize..12, 0..3),
    ) -> Visibility {
        let name = |n: usize| match n {
            10 | 11 => CONTEXT[n - 10].to_owned(),
            n => format!("tool{n}"),
        };
        let mut view = Visibility::new();
        view.domain = domain.map(str::to_owned);
        view.packs = packs.into_iter().map(str::to_owned).collect();
        view.only = only.map(|only| only.into_iter().map(name).collect());
        view.disabled = disabled.into_iter().map(name).collect();
        view
    }
}

/// Returns the names of the tools in a catalogue.
fn named(catalogue: &str) -> BTreeSet<String> {
    let heads = catalogue.lines().filter_map(|line| line.strip_prefix("- "));
    heads
        .flat_map(|head| match head.strip_prefix("and ") {
            Some(rest) => rest
                .replace(" and ", ", ")
                .split(", ")
                .map(str::to_owned)
                .collect(),
            None => vec![head.split([' ', '(']).next().unwrap_or_default().to_owned()],
        })
        .collect()
}

proptest! {
    #[test]
    fn l8_any_registry_shows_exactly_what_can_be_called(
        shapes in vec(any_shape(), 0..10),
        to_choose in any::<bool>(),
        view in any_view(),
        most in 0usize..12,
    ) {
        let registry = registry_of(&shapes, to_choose);
        let admitted = |name: &str| {
            let arguments = if name == CONTEXT[0] { json!({ "domain": "desk" }) } else { json!({}) };
            registry.admit(&call(name, arguments), &view)
        };
        let callable: BTreeSet<String> = registry.0.tools.keys()
            .filter(|name| admitted(name).is_ok())
            .cloned()
            .collect();
        let schemas: Vec<_> = names(&registry, &view);
        let in_order: Vec<_> = callable.iter().cloned().collect();
        prop_assert_eq!(&schemas, &in_order);
        prop_assert_eq!(named(&registry.catalogue(&view, CatalogueDetail::Full)), callable.clone());
        prop_assert_eq!(named(&registry.catalogue(&view, CatalogueDetail::Lite { most })), callable.clone());
        for (n, shape) in shapes.iter().enumerate().filter(|(_, shape)| shape.has_alias) {
            let by_alias = admitted(&format!("alias{n}")).is_ok();
            prop_assert_eq!(by_alias, callable.contains(&format!("tool{n}")), "{:?}", shape);
        }
        // The refusal of a hidden tool names the domain and pack to add, and adding them helps.
        for name in registry.0.tools.keys().filter(|name| !callable.contains(*name)) {
            let Err(Refusal::Inactive { domain, pack, merge, can_be_added, .. }) = admitted(name) else {
                continue;
            };
            prop_assert_eq!(can_be_added, callable.contains(CONTEXT[0]));
            let request = crate::AddTools {
                domain,
                packs: pack.into_iter().collect(),
                mode: merge.then(|| "merge".to_owned()),
            };
            let chosen = registry.domains().add(&view, &request);
            let after = view.clone().after(chosen.update.expect("what is named can be added"));
            prop_assert!(registry.admit(&call(name, json!({})), &after).is_ok(), "{}", name);
        }
    }

    /// Equal inputs give equal bytes, independent of the order of registration.
    #[test]
    fn l8_the_order_is_stable(
        (shapes, order) in vec(any_shape(), 0..8).prop_flat_map(|shapes| {
            let order: Vec<_> = (0..shapes.len()).collect();
            (Just(shapes), Just(order).prop_shuffle())
        }),
        view in any_view(),
    ) {
        let spec = |n: &usize| {
            let spec = ToolSpec::read(format!("tool{n}"), "Reads.");
            match shapes[*n].place {
                Some((domain, _)) => spec.domain(domain),
                None => spec,
            }
        };
        let built = |order: &mut dyn Iterator<Item = usize>| {
            let domains = DOMAINS.into_iter().fold(Domains::new(), |all, d| all.with(d, Domain::new("core")));
            order.fold(Any::builder().domains(domains), |builder, n| {
                builder.function(spec(&n), |_, _: NoArguments| Ok("ok"))
            }).build().unwrap()
        };
        let (first, second) = (built(&mut (0..shapes.len())), built(&mut order.into_iter()));
        prop_assert_eq!(first.schemas(&view), second.schemas(&view));
        let text = |registry: &Any| registry.catalogue(&view, CatalogueDetail::LITE);
        prop_assert_eq!(text(&first), text(&second));
    }
}
