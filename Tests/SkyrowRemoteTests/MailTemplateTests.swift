import Testing

@testable import SkyrowRemote

/// The part of Mustache that templates of mails are in.
@Suite struct MailTemplateTests {
    private let values = MailValues(application: "A & <b>", address: "ann@example.org", link: "l?a&b", linkHours: 1)

    @Test(
        arguments: [
            ("", "", ""), ("no tag } {", "no tag } {", "no tag } {"),
            // Values.
            ("{{application}}", "A & <b>", "A &amp; &lt;b&gt;"),
            ("{{ application\t}}!", "A & <b>!", "A &amp; &lt;b&gt;!"),
            ("{{{application}}}", "A & <b>", "A & <b>"), ("{{{ link }}}}", "l?a&b}", "l?a&b}"),
            ("{{&application}}{{& link}}", "A & <b>l?a&b", "A & <b>l?a&b"), ("[{{digits}}]", "[]", "[]"),
            ("{{link_hours}} {{digits_minutes}}", "1 0", "1 0"),
            ("ä{{address}}ö", "äann@example.orgö", "äann@example.orgö"),
            ("\"'{{link}}", "\"'l?a&b", "\"'l?a&amp;b"),
            // Sections, each with its contrary.
            ("{{#link}}yes{{/link}}{{^link}}no{{/link}}.", "yes.", "yes."),
            ("{{#digits}}yes{{/digits}}{{^digits}}no{{/digits}}.", "no.", "no."),
            ("{{#link}}a{{^digits}}b{{#digits}}c{{/digits}}{{/digits}}d{{/link}}", "abd", "abd"),
            ("{{^link}}a{{#link}}b{{/link}}{{link}}{{/link}}c", "c", "c"), ("{{#link}}{{/link}}", "", ""),
            // Comments.
            ("a{{! {{link }}b", "ab", "ab"), ("a{{!}}b", "ab", "ab"), ("a{{! two\nlines }}b", "ab", "ab"),
            // Tags that are alone on their line make none.
            ("a\n{{#link}}\nb\n{{/link}}\nc\n", "a\nb\nc\n", "a\nb\nc\n"),
            ("a\r\n  {{#link}}\t\r\nb\r\n{{/link}}", "a\r\nb\r\n", "a\r\nb\r\n"),
            ("{{! alone }}\na", "a", "a"), ("{{#link}}\n{{#link}}\n{{/link}}\n{{/link}}\n.", ".", "."),
            ("a\n {{link}}\nb", "a\n l?a&b\nb", "a\n l?a&amp;b\nb"),
            ("a\n{{#link}} b\n{{/link}} c", "a\n b\n c", "a\n b\n c"),
            ("a {{! b }}\nc", "a \nc", "a \nc"), ("{{! a }} {{! b }}\nc", " \nc", " \nc"),
        ] as [(String, String, String)]
    )
    func aTemplateIsRendered(_ text: String, _ plain: String, _ html: String) throws {
        #expect(try MailTemplate(text, isHTML: false).render(values) == plain)
        #expect(try MailTemplate(text, isHTML: true).render(values) == html)
    }

    @Test(
        arguments: [
            ("{{link", 1, "no }}"), ("a\n{{{link}}", 2, "no }}}"), ("a\nb\n{{! c", 3, "no }}"), ("{{", 1, "no }}"),
            ("a\n\n{{lnk}}", 3, "{{lnk}} is not one of the names application, address, link"),
            ("{{}}", 1, "is not one of the names"),
            ("{{.}}", 1, "is not one of the names"), ("{{#}}{{/}}", 1, "is not one of the names"),
            ("{{!\n}}{{Link}}", 2, "is not one of the names"),
            ("{{! a\nb }}\n{{link.size}}", 3, "is not one of the names"),
            ("{{> head}}", 1, "{{> head}} is neither a value, a section nor a comment"),
            ("{{=<% %>=}}", 1, "is neither"),
            ("{{% CONTENT_TYPE:TEXT}}", 1, "is neither"), ("{{$ block}}", 1, "is neither"),
            ("{{< parent}}", 1, "is neither"),
            ("{{#link}}\n{{#digits}}\n{{/digits}}", 1, "The section {{#link}} is not closed"),
            ("{{#link}}\n{{/digits}}", 2, "{{/digits}} does not end the section"),
            ("a\n{{/link}}", 2, "{{/link}} does not end the section"),
            ("{{#link}}{{^digits}}{{/link}}{{/digits}}", 1, "{{/link}} does not end the section"),
        ] as [(String, Int, String)]
    )
    func whatIsNoTemplateIsRefusedWithItsLine(_ text: String, _ line: Int, _ said: String) {
        let fault = #expect(throws: MailTemplate.Fault.self) { try MailTemplate(text, isHTML: true) }
        #expect(fault?.line == line)
        #expect(fault?.sentence.contains(said) == true, "\(fault?.sentence ?? "")")
    }

    private func nested(_ depth: Int) -> String {
        String(repeating: "{{#link}}", count: depth) + "." + String(repeating: "{{/link}}", count: depth)
    }

    @Test func aTemplateHasBounds() throws {
        for (text, isInBounds) in [
            (String(repeating: "x", count: MailTemplate.maximumLength), true),
            (String(repeating: "x", count: MailTemplate.maximumLength + 1), false),
            (String(repeating: "{{! a }}", count: MailTemplate.maximumTags), true),
            (String(repeating: "{{! a }}", count: MailTemplate.maximumTags + 1), false),
            (nested(MailTemplate.maximumDepth), true), (nested(MailTemplate.maximumDepth + 1), false),
        ] {
            if isInBounds {
                #expect(try MailTemplate(text, isHTML: false).render(values) != nil)
            } else {
                #expect(throws: MailTemplate.Fault.self) { try MailTemplate(text, isHTML: false) }
            }
        }
    }

    @Test func anOutputHasABound() throws {
        let template = try MailTemplate(
            String(repeating: "{{address}}", count: MailTemplate.maximumTags),
            isHTML: false
        )
        var values = values
        values.address = String(repeating: "a", count: MailTemplate.maximumOutput / MailTemplate.maximumTags)
        #expect(template.render(values) != nil)
        values.address += "abc"
        #expect(template.render(values) == nil)
    }
}
