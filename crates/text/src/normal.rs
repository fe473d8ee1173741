//! The form in which texts are compared.

/// Traditional characters, each with the simplified one after it.
const SIMPLIFIED: &str = "別别掃扫緊紧擠挤剛刚檢检測测鬧闹煩烦幹干淨净優优積积術术騰腾遲迟併并髒脏暫暂繳缴遞递擴扩廚厨鍵键 \
    個个們们這这時时間间請请幫帮週周禮礼後后點点複复習习動动還还沒没對对換换過过來来開开關关為为麼么 \
    誰谁幾几無无課课節节號号學学業业試试題题寫写讀读書书筆笔記记備备錄录見见說说話话種种樣样頭头邊边 \
    裡里裏里處处實实驗验會会議议醫医語语數数線线導导權权統统計计歷历體体應应聽听當当與与從从給给讓让 \
    將将於于並并雖虽嗎吗讚赞謝谢歡欢東东張张單单雙双顯显顏颜調调變变發发現现樓楼進进遠远運运達达適适 \
    選选邏逻鐘钟錯错釋释長长門门問问閱阅預预須须領领類类顧顾風风飛飞飯饭養养驚惊齊齐講讲務务陣阵熱热 \
    練练績绩劃划劇剧組组織织結结級级經经維维總总繼继續续罷罢聯联臨临舊旧製制討讨訂订設设許许評评詞词 \
    該该詳详誤误論论諾诺證证識识護护貴贵買买賣卖費费資资質质賽赛趕赶軟软載载輕轻輸输轉转辦办農农隨随 \
    險险雜杂難难電电靜静項项順顺頓顿頻频願愿飲饮屬属連连錢钱鋼钢鐵铁閉闭陽阳陰阴際际隊队場场報报壞坏 \
    聲声壓压夢梦婦妇寶宝審审層层島岛幣币帶带師师廠厂廣广強强彈弹憶忆愛爱態态慶庆懷怀戲戏戶户擇择據据 \
    擔担擺摆斷断晝昼曉晓條条極极構构橋桥機机歲岁歸归殘残氣气決决況况溫温滿满漢汉澤泽災灾烏乌爾尔狀状 \
    獎奖獨独產产畢毕異异疊叠療疗盡尽監监盤盘礎础稱称穩稳窮穷紅红納纳純纯紙纸細细終终網网綠绿編编緩缓 \
    縣县縮缩羅罗義义聞闻職职肅肃腦脑腳脚膽胆臉脸舉举藝艺範范莊庄華华萬万葉叶藥药蘭兰蟲虫補补裝装規规 \
    視视覺觉觀观觸触訊讯訓训託托訪访詩诗誠诚談谈諸诸謀谋謂谓貓猫財财責责貨货販贩貧贫貿贸賓宾趙赵跡迹 \
    踐践蹤踪車车軍军較较輔辅輛辆輝辉輪轮轟轰辭辞邁迈鄉乡鄰邻醜丑鏡镜閃闪閒闲離离雲云霧雾韓韩響响頂顶 \
    頁页頌颂頸颈顆颗額额騎骑騙骗魚鱼鮮鲜鳥鸟鳴鸣麗丽麥麦黃黄黨党龍龙龜龟";

/// Returns a text in the form that is compared: lower case, half width, simplified characters, and
/// one sign for each kind of pause. Each character stays one, but for letters whose lower case is
/// longer.
///
/// ```
/// assert_eq!(fugato_text::normalize("Ｍove 週三，好嗎？"), "move 周三,好吗?");
/// ```
pub fn normalize(text: &str) -> String {
    text.chars()
        .map(narrow)
        .map(simplified)
        .flat_map(char::to_lowercase)
        .collect()
}

fn simplified(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let mut pairs = SIMPLIFIED.chars().filter(|c| *c != ' ');
    while let (Some(from), Some(to)) = (pairs.next(), pairs.next()) {
        if from == c {
            return to;
        }
    }
    c
}

fn narrow(c: char) -> char {
    match c {
        '。' | '！' | '；' => '.',
        '？' => '?',
        '，' | '：' => ',',
        '’' => '\'',
        '（' => '(',
        '）' => ')',
        '～' | '–' | '—' => '-',
        '\u{3000}' => ' ',
        '\u{ff10}'..='\u{ff5a}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_in_one_form() {
        assert_eq!(normalize("請把矩陣運算移到週五！"), "请把矩阵运算移到周五.");
        assert_eq!(normalize("Ａ（1）～Ｂ"), "a(1)-b");
        assert_eq!(normalize("買賣貓頓鐵"), "买卖猫顿铁");
        let mut pairs = SIMPLIFIED.chars().filter(|c| *c != ' ');
        while let Some(from) = pairs.next() {
            assert!(pairs.next().is_some_and(|to| to != from), "{from}");
        }
    }
}
