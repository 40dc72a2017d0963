import SkyrowJSON

/// A mail template in a subset of Mustache.
///
/// `{{link}}` is a value, escaped in HTML; `{{{link}}}` and `{{&link}}` are the unescaped value. `{{#link}}…{{/link}}`
/// is rendered if the value is not empty, `{{^link}}…{{/link}}` if it is empty, and `{{! … }}` is a comment. As in
/// Mustache, a line with only a section tag or comment is removed.
///
/// ```swift
/// let template = try MailTemplate("{{#link}}Open {{link}}.{{/link}}", isHTML: false)
/// template.render(values)
/// ```
struct MailTemplate: Hashable, Sendable {
    /// Bytes.
    static let maximumLength = 262_144
    /// Upper bound on tags: with values of 1500 bytes, the output cannot be too long.
    static let maximumTags = 500
    /// Upper bound on nested sections.
    static let maximumDepth = 16
    /// Bytes.
    static let maximumOutput = 1_048_576

    struct Fault: Error, Hashable {
        /// The line number, from 1.
        let line: Int
        let sentence: String
    }

    private enum Part: Hashable {
        case text(String)
        case value(MailValues.Name, isEscaped: Bool)
        /// A section up to the part at `end`, rendered if the value is empty, or if it is not.
        case section(MailValues.Name, whereEmpty: Bool, end: Int)
    }

    private var parts: [Part] = []

    /// Throws ``Fault`` for a text that is too long, or an unsupported tag.
    init(_ text: String, isHTML: Bool) throws(Fault) {
        guard text.utf8.count <= MailTemplate.maximumLength else {
            throw Fault(line: 1, sentence: "The template is longer than \(MailTemplate.maximumLength / 1024) KB.")
        }
        var reader = TagReader(text)
        var open: [(part: Int, tag: TagReader.Tag)] = []
        var count = 0
        while let (before, tag) = try reader.next() {
            if !before.isEmpty { parts.append(.text(before)) }
            count += 1
            guard count <= MailTemplate.maximumTags else {
                throw tag.fault("The template has more than \(MailTemplate.maximumTags) tags.")
            }
            switch tag.mark {
            case nil: parts.append(.value(try tag.name(), isEscaped: isHTML))
            case "{", "&": parts.append(.value(try tag.name(), isEscaped: false))
            case "!": break
            case "#", "^":
                open.append((parts.count, tag))
                guard open.count <= MailTemplate.maximumDepth else {
                    throw tag.fault("Sections are nested more than \(MailTemplate.maximumDepth) deep.")
                }
                parts.append(.section(try tag.name(), whereEmpty: tag.mark == "^", end: parts.count))
            case "/":
                let name = try tag.name()
                guard let (part, _) = open.popLast(), case .section(name, let whereEmpty, _) = parts[part] else {
                    throw tag.fault("\(tag.text) does not end the section that is open here.")
                }
                parts[part] = .section(name, whereEmpty: whereEmpty, end: parts.count)
            default: throw tag.fault("\(tag.text) is neither a value, a section nor a comment.")
            }
        }
        if let (_, tag) = open.last { throw tag.fault("The section \(tag.text) is not closed.") }
        if !reader.rest.isEmpty { parts.append(.text(reader.rest)) }
    }

    /// Returns the text with values; nil if it exceeds ``maximumOutput``.
    func render(_ values: MailValues) -> String? {
        var output = ""
        var index = 0
        while index < parts.count, output.utf8.count <= MailTemplate.maximumOutput {
            switch parts[index] {
            case .text(let text): output += text
            case .value(let name, let isEscaped): output += isEscaped ? values[name].escapedForHTML : values[name]
            case .section(let name, let whereEmpty, let end):
                if values[name].isEmpty != whereEmpty { index = end - 1 }
            }
            index += 1
        }
        return output.utf8.count <= MailTemplate.maximumOutput ? output : nil
    }
}

/// Splits a template into tags and the texts between them.
private struct TagReader {
    struct Tag {
        /// The character before the name, such as `#`.
        let mark: Unicode.Scalar?
        let content: String
        /// The tag, possibly truncated.
        let text: String
        let line: Int

        func name() throws(MailTemplate.Fault) -> MailValues.Name {
            guard let name = MailValues.Name(rawValue: content) else {
                let names = MailValues.Name.allCases.map(\.rawValue).joined(separator: ", ")
                throw fault("\(text) is not one of the names \(names).")
            }
            return name
        }

        func fault(_ sentence: String) -> MailTemplate.Fault { MailTemplate.Fault(line: line, sentence: sentence) }
    }

    private static let marks = Set("!#^/{&>=%$<".unicodeScalars)

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The text after the last tag.
    var rest: String { text(position..<bytes.count) }

    mutating func next() throws(MailTemplate.Fault) -> (before: String, tag: Tag)? {
        guard let start = place(of: "{{", from: position) else { return nil }
        line += bytes[position..<start].count { $0 == UInt8(ascii: "\n") }
        var content = start + 2
        while content < bytes.count, TagReader.isBlank(bytes[content]) { content += 1 }
        let mark = content < bytes.count ? Unicode.Scalar(bytes[content]) : " "
        let isMarked = TagReader.marks.contains(mark)
        let closing = mark == "{" ? "}}}" : "}}"
        guard let close = place(of: closing, from: content) else {
            throw MailTemplate.Fault(line: line, sentence: "The tag that starts here has no \(closing).")
        }
        let end = close + closing.utf8.count
        var name = bytes[(isMarked ? content + 1 : content)..<close]
        while let first = name.first, TagReader.isBlank(first) { name.removeFirst() }
        while let last = name.last, TagReader.isBlank(last) { name.removeLast() }
        let tag = Tag(
            mark: isMarked ? mark : nil,
            content: String(decoding: name, as: UTF8.self),
            text: String(text(start..<end).prefix(60)),
            line: line
        )
        let isAlone = isMarked && mark != "{" && mark != "&"
        let taken = isAlone ? wholeLine(around: start..<end) ?? start..<end : start..<end
        let before = text(position..<taken.lowerBound)
        line += bytes[start..<taken.upperBound].count { $0 == UInt8(ascii: "\n") }
        position = taken.upperBound
        return (before, tag)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private func place(of mark: String, from start: Int) -> Int? {
        bytes[start...].firstRange(of: Array(mark.utf8))?.lowerBound
    }

    /// Returns the line of a tag including its line break; nil if the line has other contents.
    private func wholeLine(around tag: Range<Int>) -> Range<Int>? {
        var (start, end) = (tag.lowerBound, tag.upperBound)
        while start > position, bytes[start - 1] != UInt8(ascii: "\n") {
            start -= 1
            guard TagReader.isBlank(bytes[start]) else { return nil }
        }
        // Another tag that shares the line precedes this one.
        guard start == 0 || bytes[start - 1] == UInt8(ascii: "\n") else { return nil }
        while end < bytes.count {
            end += 1
            if bytes[end - 1] == UInt8(ascii: "\n") { break }
            guard TagReader.isBlank(bytes[end - 1]) else { return nil }
        }
        return start..<end
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0d).contains(byte) }
}
