//! The encoders of the stream keep their contract, and the suite rejects broken ones.
use std::collections::BTreeSet;

use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, EnvelopeEncoder, Fidelity, NamedSseEncoder, OpenAiEncoder,
    Vocabulary,
};
use fugato_testkit::encoder::{BrokenEncoders, EncoderFactory, EncoderFlaw, SCENARIOS, Wire, run};

/// Each protocol.
#[derive(Clone, Copy)]
enum Protocol {
    OpenAi,
    OpenAiExtra,
    React,
    Planner,
    Envelope,
    AgUi,
    AiSdk,
}

impl EncoderFactory for Protocol {
    fn encoder(&self, fidelity: Fidelity) -> Box<dyn Encoder> {
        let openai = || OpenAiEncoder::new("run-1", "desk", 1_700_000_000).fidelity(fidelity);
        let named = |names| NamedSseEncoder::new(names).fidelity(fidelity);
        match self {
            Self::OpenAi => Box::new(openai()),
            Self::OpenAiExtra => Box::new(openai().extension_as_extra().include_usage()),
            Self::React => Box::new(named(Vocabulary::REACT)),
            Self::Planner => Box::new(named(Vocabulary::PLANNER)),
            Self::Envelope => Box::new(EnvelopeEncoder::new(|| 0).fidelity(fidelity)),
            Self::AgUi => Box::new(AgUiEncoder::new().fidelity(fidelity)),
            Self::AiSdk => Box::new(AiSdkEncoder::new().fidelity(fidelity)),
        }
    }

    fn wire(&self) -> Wire {
        match self {
            Self::Envelope => Wire::Messages,
            _ => Wire::Events,
        }
    }

    fn tells_of_a_break(&self) -> bool {
        !matches!(self, Self::React | Self::Planner)
    }
}

mod openai {
    fugato_testkit::encoder_suite!(super::Protocol::OpenAi);
}

mod openai_extra {
    fugato_testkit::encoder_suite!(super::Protocol::OpenAiExtra);
}

mod react {
    fugato_testkit::encoder_suite!(super::Protocol::React);
}

mod planner {
    fugato_testkit::encoder_suite!(super::Protocol::Planner);
}

mod envelope {
    fugato_testkit::encoder_suite!(super::Protocol::Envelope);
}

mod ag_ui {
    fugato_testkit::encoder_suite!(super::Protocol::AgUi);
}

mod ai_sdk {
    fugato_testkit::encoder_suite!(super::Protocol::AiSdk);
}

#[test]
fn each_flaw_is_rejected_at_its_scenario() {
    for flaw in EncoderFlaw::ALL {
        let rejected = run(flaw.rejected_by(), &BrokenEncoders::new(*flaw));
        assert!(
            rejected.is_err(),
            "{} accepts an encoder that {flaw:?}",
            flaw.rejected_by()
        );
    }
}

#[test]
fn each_scenario_rejects_some_flaw() {
    let rejecting: BTreeSet<_> = EncoderFlaw::ALL.iter().map(|it| it.rejected_by()).collect();
    assert_eq!(rejecting, SCENARIOS.iter().copied().collect());
}
