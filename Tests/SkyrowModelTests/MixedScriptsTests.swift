import SkyrowModel
import Testing

@Suite struct MixedScriptsTests {
    @Test(arguments: [
        ("zoe", false), ("zoe_99@example.org", false), ("Zo\u{EB}", false), ("zoe\u{301}", false), ("", false),
        // Cyrillic o, Greek omicron, Armenian, Cherokee
        ("z\u{43E}e", true), ("z\u{3BF}e", true), ("a\u{578}", true), ("\u{13AA}nn", true),
        ("\u{438}\u{432}\u{430}\u{43D}", false), ("\u{438}\u{432}\u{430}\u{43D}-1990", false),
        ("\u{3B6}\u{3C9}\u{3AE}", false), ("\u{5E9}\u{5DC}\u{5D5}\u{5DD}", false),
        // Japanese with Latin, Chinese with Latin, Korean with Latin, Chinese with Bopomofo, Korean with kana
        ("Tanaka\u{7530}\u{4E2D}\u{305F}\u{30AB}", false), ("wang\u{738B}", false), ("kim\u{AE40}", false),
        ("\u{4E2D}\u{3105}", false), ("\u{AE40}\u{305F}", true), ("\u{4E2D}\u{438}", true),
        ("\u{FF21}nn", false), ("\u{FF21}\u{43D}", true), ("\u{AA}b", false),
        // The parts of an address each have a script.
        ("zoe@\u{43F}\u{440}\u{438}\u{43C}\u{435}\u{440}.example", false), ("z\u{43E}e@example.org", true),
        ("zoe@ex\u{430}mple.org", true),
    ])
    func scriptsThatAreNotWrittenTogetherAreTold(_ text: String, _ isMixed: Bool) {
        #expect(text.mixesScripts == isMixed)
    }

    @Test(arguments: [
        ("", true), (" ", true), ("\u{200B}", true), ("\u{200D}\u{FEFF}\u{AD}", true), ("\u{3164}", true),
        ("a", false), ("\u{200B}a", false), ("_", false), ("\u{301}", false),
    ])
    func textThatShowsNothingIsTold(_ text: String, _ isInvisible: Bool) {
        #expect(text.isInvisible == isInvisible)
    }
}
