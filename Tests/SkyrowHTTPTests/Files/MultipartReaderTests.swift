import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Bodies of `multipart/form-data`, whole and in chunks.
@Suite struct MultipartReaderTests {
    private static let contentType = "multipart/form-data; boundary=bound"

    /// The events of a body that is cut at some places, with adjacent bytes joined.
    private static func events(
        of body: [UInt8],
        cutAt places: [Int] = [],
        contentType: String = contentType
    ) throws -> [MultipartReader.Event] {
        var reader = try #require(MultipartReader(contentType: contentType))
        var events: [MultipartReader.Event] = []
        for (start, end) in zip([0] + places, places + [body.count]) {
            for event in try reader.read(Array(body[start..<end])) {
                if case .bytes(let bytes) = event, case .bytes(let before) = events.last {
                    #expect(!bytes.isEmpty)
                    events[events.count - 1] = .bytes(before + bytes)
                } else {
                    events.append(event)
                }
            }
        }
        try reader.finish()
        return events
    }

    private enum Outcome: Equatable {
        case events([MultipartReader.Event])
        case fault(MultipartFault)
    }

    private static func outcome(
        of body: [UInt8],
        cutAt places: [Int] = [],
        contentType: String = contentType
    ) throws -> Outcome {
        do {
            return .events(try events(of: body, cutAt: places, contentType: contentType))
        } catch let fault as MultipartFault {
            return .fault(fault)
        }
    }

    private static func events(of body: String) throws -> [MultipartReader.Event] { try events(of: Array(body.utf8)) }

    private static func bytes(_ text: String) -> MultipartReader.Event { .bytes(Array(text.utf8)) }

    private static func part(
        _ name: String,
        _ filename: String? = nil,
        _ contentType: String? = nil
    ) -> MultipartReader.Event {
        .part(name: name, filename: filename, contentType: contentType)
    }

    private static let disposition = "Content-Disposition: form-data; name=\"a\"\r\n\r\n"

    private static let bodies: [(String, [MultipartReader.Event])] = [
        // What a browser sends
        (
            """
            --bound\r\nContent-Disposition: form-data; name="k"\r\n\r\nv\r\n\
            --bound\r\nContent-Disposition: form-data; name="file"; filename="cat.png"\r\nContent-Type: image/png\r\n\r\n\
            \u{1}\r\n\u{2}\r\n--bound--\r\n
            """,
            [
                part("k"), bytes("v"), .endOfPart, part("file", "cat.png", "image/png"), bytes("\u{1}\r\n\u{2}"),
                .endOfPart,
                .end,
            ]
        ),
        // An empty content, with its line and without it
        ("--bound\r\n\(disposition)\r\n--bound--", [part("a"), .endOfPart, .end]),
        ("--bound\r\n\(disposition)--bound--", [part("a"), .endOfPart, .end]),
        ("--bound\r\n\(disposition)\r\n\r\n--bound--", [part("a"), bytes("\r\n"), .endOfPart, .end]),
        ("--bound--", [.end]), ("--bound--\r\n", [.end]),
        // Text before and behind
        (
            "\r\n--bound\r\n\(disposition)x\r\n--bound--\r\nbehind\r\n--bound\r\n",
            [part("a"), bytes("x"), .endOfPart, .end]
        ),
        ("before\r\n--bound\r\n\(disposition)x\r\n--bound----", [part("a"), bytes("x"), .endOfPart, .end]),
        ("x--bound\n--bound\r\n--boun\r\n--bound--", [.end]),
        // Spaces behind the boundary
        ("--bound \t\r\n\(disposition)x\r\n--bound--  \r\n", [part("a"), bytes("x"), .endOfPart, .end]),
        // Content that is nearly the boundary
        (
            "--bound\r\n\(disposition)\r\n--boun\r\n-bound--bound\r\r\n\n--bound\r--bound\r\n--Bound\r\n--bound--",
            [
                part("a"), bytes("\r\n--boun\r\n-bound--bound\r\r\n\n--bound\r--bound\r\n--Bound"), .endOfPart, .end,
            ]
        ),
        ("--bound\r\n\(disposition)-\r\n--bound--", [part("a"), bytes("-"), .endOfPart, .end]),
        ("--bound\r\n\(disposition)--boun\r\n--bound--", [part("a"), bytes("--boun"), .endOfPart, .end]),
        ("--bound\r\n\(disposition)\r\r\n--bound--", [part("a"), bytes("\r"), .endOfPart, .end]),
    ]

    @Test(arguments: bodies)
    func aBodyIsItsParts(body: String, events: [MultipartReader.Event]) throws {
        let body = Array(body.utf8)
        #expect(try Self.events(of: body) == events)
        #expect(try Self.events(of: body, cutAt: Array(1..<max(1, body.count))) == events)
        for first in 0...body.count {
            for length in 0...12 where length <= body.count - first {
                let cut = try Self.events(of: body, cutAt: [first, first + length])
                #expect(cut == events, "\(length) bytes from \(first) on")
            }
        }
    }

    private static let headers: [(String, MultipartReader.Event)] = [
        // Names with and without quotes, and in any case
        ("Content-Disposition: form-data; name=a", part("a")), ("content-disposition:form-data;name=a", part("a")),
        ("CONTENT-DISPOSITION: Form-Data; NAME=\"a\"", part("a")),
        ("Content-Disposition: form-data ; name = \"a\" ;", part("a")),
        ("Content-Disposition: form-data; name=\"\"", part("")),
        ("Content-Disposition: form-data; name=\"a;b=c\"", part("a;b=c")),
        ("Content-Disposition: form-data; name=\"\u{E4}\u{1F431}\"", part("\u{E4}\u{1F431}")),
        ("Content-Disposition: form-data; x=1; name=a; y=\"2\"", part("a")),
        ("Content-Disposition: form-data; filename=b; name=a", part("a", "b")),
        // File names
        ("Content-Disposition: form-data; name=a; filename=\"\"", part("a", "")),
        ("Content-Disposition: form-data; name=a; filename=my cat.png", part("a", "my cat.png")),
        ("Content-Disposition: form-data; name=a; filename=\"my \\\"cat\\\".png\"", part("a", "my \"cat\".png")),
        ("Content-Disposition: form-data; name=a; filename=\"C:\\dir\\\\cat.png\"", part("a", "C:\\dir\\cat.png")),
        ("Content-Disposition: form-data; name=a; filename=\"../../x\"", part("a", "../../x")),
        ("Content-Disposition: form-data; name=a; filename=\"x\\\\\"", part("a", "x\\")),
        ("Content-Disposition: form-data; name=a; filename=\"%22.png\"", part("a", "%22.png")),
        (
            "Content-Disposition: form-data; name=a; filename*=UTF-8''K%C3%A4tzchen%201.png",
            part("a", "K\u{E4}tzchen 1.png")
        ),
        ("Content-Disposition: form-data; name=a; filename=x; filename*=utf-8'de'y%2Ez", part("a", "y.z")),
        ("Content-Disposition: form-data; name=a; filename*=UTF-8''y; filename=x", part("a", "y")),
        // A name that cannot be decoded does not count.
        ("Content-Disposition: form-data; name=a; filename=x; filename*=ISO-8859-1''%E4", part("a", "x")),
        ("Content-Disposition: form-data; name=a; filename=x; filename*=UTF-8''%E4", part("a", "x")),
        ("Content-Disposition: form-data; name=a; filename=x; filename*=UTF-8''%4", part("a", "x")),
        ("Content-Disposition: form-data; name=a; filename=x; filename*=UTF-8''%0D%0A", part("a", "x")),
        ("Content-Disposition: form-data; name=a; filename=x; filename*=y", part("a", "x")),
        ("Content-Disposition: form-data; name=a; filename*=UTF-8''%00", part("a")),
        // Other fields
        (
            "Content-Disposition: form-data; name=a\r\nContent-Type: text/plain; charset=utf-8",
            part("a", nil, "text/plain; charset=utf-8")
        ),
        ("Content-Type:\timage/png \r\nContent-Disposition: form-data; name=a", part("a", nil, "image/png")),
        ("X-Other: 1\r\nX-Other: 2\r\nContent-Disposition: form-data; name=a\r\nContent-Length: 5", part("a")),
        ("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: Binary", part("a")),
        ("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: 8bit", part("a")),
    ]

    @Test(arguments: headers)
    func aHeaderNamesThePart(header: String, event: MultipartReader.Event) throws {
        let body = "--bound\r\n\(header)\r\n\r\nx\r\n--bound--"
        #expect(try Self.events(of: body) == [event, Self.bytes("x"), .endOfPart, .end])
    }

    private static func withHeader(_ header: String) -> String { "--bound\r\n\(header)\r\n\r\nx\r\n--bound--" }

    private static func ofParts(_ count: Int) -> String {
        String(repeating: "--bound\r\n\(disposition)x\r\n", count: count) + "--bound--"
    }

    /// A header of this length, with the end of the line of the boundary.
    private static func ofHeader(_ length: Int) -> String {
        let field = "Content-Disposition: form-data; name=a\r\nX: "
        return withHeader(field + String(repeating: "x", count: length - field.utf8.count - 6))
    }

    private static func ofName(_ length: Int) -> String {
        withHeader("Content-Disposition: form-data; name=\(String(repeating: "n", count: length))")
    }

    private static func ofFilename(_ length: Int) -> String {
        withHeader("Content-Disposition: form-data; name=a; filename=\(String(repeating: "n", count: length))")
    }

    private static func ofPreamble(_ length: Int) -> String { String(repeating: "p", count: length) + "\r\n--bound--" }

    private static let bounds: [(String, MultipartFault?)] = [
        (ofParts(64), nil), (ofParts(65), .tooManyParts), (ofHeader(8192), nil), (ofHeader(8193), .headerTooLong),
        (ofHeader(100_000), .headerTooLong), (ofName(255), nil), (ofName(256), .nameTooLong),
        (ofFilename(1024), nil), (ofFilename(1025), .nameTooLong), (ofPreamble(8192), nil),
        (ofPreamble(8193), .preambleTooLong), (ofPreamble(100_000), .preambleTooLong),
        ("--bound" + String(repeating: " ", count: 100_000), .headerTooLong),
    ]

    private static let malformed: [(String, MultipartFault?)] = [
        // Without the last boundary
        ("", .incomplete), ("\r\n", .incomplete), ("--bound", .incomplete), ("--bound\r\n", .incomplete),
        ("--bound-", .incomplete),
        ("--bound\r\n\(disposition)", .incomplete), ("--bound\r\n\(disposition)x", .incomplete),
        ("--bound\r\n\(disposition)x\r\n--boun", .incomplete), ("--bound\r\n\(disposition)x\r\n--bound", .incomplete),
        ("--bound\r\n\(disposition)x\r\n--bound-", .incomplete), ("--bound\r\n\(disposition)x\n--bound--", .incomplete),
        ("--bound\r\nContent-Disposition: form-data; name=a", .incomplete), ("--other--", .incomplete),
        // Lines that end with LF or CR alone
        ("--bound\n\(disposition)x\r\n--bound--", .malformedBoundary),
        ("--bound\r\nContent-Disposition: form-data; name=a\n\nx\r\n--bound--", .malformedHeader),
        ("--bound\r\nContent-Disposition: form-data; name=a\r\n\nx\r\n--bound--", .malformedHeader),
        ("--bound\r\nContent-Disposition: form-data; name=a\rX: y\r\n\r\nx\r\n--bound--", .malformedHeader),
        ("--bound\r\(disposition)x\r\n--bound--", .malformedBoundary),
        ("--bound\r\n\(disposition)x\r\n--bound\n\(disposition)x\r\n--bound--", .malformedBoundary),
        // More than the boundary in its line
        ("--boundary--", .malformedBoundary), ("--bound -\r\n", .malformedBoundary), ("--bound--x", nil),
        ("--bound-x", .malformedBoundary), ("--bound\r\r\n", .malformedBoundary),
        ("--bound -- \r\n", .malformedBoundary),
        ("--bound\r\n\(disposition)x\r\n--boundary\r\n--bound--", .malformedBoundary),
        // Headers
        ("--bound\r\n\r\nx\r\n--bound--", .malformedHeader), (withHeader("X: y"), .malformedHeader),
        ("--bound\r\n--bound--", .incomplete), ("--bound\r\n--bound--\r\n", .malformedHeader),
        (withHeader("no field"), .malformedHeader), (withHeader(": x"), .malformedHeader),
        (withHeader("X : y"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=a\r\n b"), .malformedHeader),
        (withHeader("Content-Disposition: form-data;\r\n name=a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=\"a\u{0}\""), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=\"a\u{7F}\""), .malformedHeader),
        (withHeader("Content-Disposition: form-data"), .malformedHeader),
        (withHeader("Content-Disposition:"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; filename=a"), .malformedHeader),
        (withHeader("Content-Disposition: attachment; name=a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data name=a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name="), .malformedHeader),
        (withHeader("Content-Disposition: form-data; =a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=\"a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=\"a\\\""), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=\"a\"b"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=a\"b\""), .malformedHeader),
        (withHeader("Content-Disposition: form-data;; name=a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=a; name=b"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=a; Name=a"), .malformedHeader),
        (withHeader("Content-Disposition: form-data; name=a; filename=b; filename=c"), .malformedHeader),
        (
            withHeader("Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b"),
            .malformedHeader
        ),
        (
            withHeader("Content-Disposition: form-data; name=a\r\nContent-Type: a/b\r\nContent-Type: c/d"),
            .malformedHeader
        ),
        (withHeader("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64"), .encodedContent),
        (
            withHeader("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: quoted-printable"),
            .encodedContent
        ),
    ]

    @Test(arguments: bounds)
    func aBodyIsBounded(body: String, fault: MultipartFault?) throws {
        try Self.check(body, fault)
    }

    @Test(arguments: malformed)
    func aMalformedBodyIsRefused(body: String, fault: MultipartFault?) throws {
        try Self.check(body, fault)
    }

    private static func check(_ body: String, _ fault: MultipartFault?) throws {
        let body = Array(body.utf8)
        for places in [[], Array(1..<max(1, body.count)), [body.count / 2]] {
            var found: MultipartFault?
            if case .fault(let fault) = try outcome(of: body, cutAt: places) { found = fault }
            #expect(found == fault, "\(String(decoding: body.prefix(100), as: UTF8.self).debugDescription)")
        }
    }

    @Test func aNameIsUTF8() throws {
        for name in [[0xE4], [0xC3], [0xED, 0xA0, 0x80]] as [[UInt8]] {
            let body = Array("--bound\r\nContent-Disposition: form-data; name=".utf8) + name + Array("\r\n\r\n".utf8)
            #expect(throws: MultipartFault.malformedHeader) { try Self.events(of: body) }
        }
    }

    @Test func aFaultStays() throws {
        var reader = try #require(MultipartReader(contentType: Self.contentType))
        #expect(throws: MultipartFault.malformedBoundary) { try reader.read(Array("--bound\n".utf8)) }
        #expect(throws: MultipartFault.malformedBoundary) { try reader.read(Array("--bound--".utf8)) }
        #expect(throws: MultipartFault.malformedBoundary) { try reader.read([]) }
        #expect(throws: MultipartFault.malformedBoundary) { try reader.finish() }
    }

    @Test(arguments: MultipartFault.allCases) func aFaultIsASentence(fault: MultipartFault) {
        #expect(fault.message.hasSuffix("."))
    }

    private static let boundaries: [(String, Bool)] = [
        ("multipart/form-data; boundary=x", true), ("Multipart/Form-Data;Boundary=\"x\"", true),
        ("multipart/form-data; charset=utf-8; boundary=x", true),
        ("multipart/form-data; boundary=x; charset=utf-8", true),
        ("multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW", true),
        ("multipart/form-data; boundary=\"----=_Part_1:a/b?c (d),'e+f\"", true),
        ("multipart/form-data; boundary=----=_Part_1", true),
        ("multipart/form-data; boundary=" + String(repeating: "b", count: 70), true),
        ("multipart/form-data; boundary=" + String(repeating: "b", count: 71), false),
        ("multipart/form-data", false), ("multipart/form-data;", false), ("multipart/form-data; boundary", false),
        ("multipart/form-data; boundary=", false), ("multipart/form-data; boundary=\"\"", false),
        ("multipart/form-data; boundary=\"x", false), ("multipart/form-data; boundary=\"x \"", false),
        ("multipart/form-data; boundary=\"x\"y", false), ("multipart/form-data; boundary=x; boundary=y", false),
        ("multipart/form-data; boundary=\u{E4}", false), ("multipart/form-data; boundary=\"a\r\nb\"", false),
        ("multipart/form-data; boundary=a\u{0}b", false), ("multipart/form-data; boundary=a*b", false),
        ("multipart/form-data; boundary=\"a\\\"b\"", false), ("multipart/mixed; boundary=x", false),
        ("multipart/form-data2; boundary=x", false), ("form-data; boundary=x", false), ("", false),
        ("application/x-www-form-urlencoded", false),
    ]

    @Test(arguments: boundaries)
    func aTypeHasABoundary(contentType: String, isRead: Bool) {
        #expect((MultipartReader(contentType: contentType) != nil) == isRead, "\(contentType)")
    }

    @Test(arguments: ["x", "----=_Part_1:a/b?c (d),'e+f", String(repeating: "b", count: 70)])
    func theBoundaryOfTheTypeSeparatesTheParts(boundary: String) throws {
        let body = "--\(boundary)\r\n\(Self.disposition)--\r\n--\r\n--\(boundary)--"
        let events = try Self.events(
            of: Array(body.utf8),
            contentType: "multipart/form-data; boundary=\"\(boundary)\""
        )
        #expect(events == [Self.part("a"), Self.bytes("--\r\n--"), .endOfPart, .end])
    }

    // MARK: - Bodies of chance

    private struct Form {
        var boundary: String
        var body: [UInt8] = []
        var events: [MultipartReader.Event] = []
    }

    /// A body of random parts, of whose content much is nearly the boundary, and the events that it stands for.
    private static func form(using random: inout SeededGenerator) -> Form {
        let letters = Array("b-'+=x".utf8)
        let boundary = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            letters.randomElement(using: &random) ?? 0x62
        }
        var form = Form(boundary: String(decoding: boundary, as: UTF8.self))
        let delimiter = Array("\r\n--".utf8) + boundary
        for index in 0..<Int.random(in: 0...4, using: &random) {
            form.body += (form.body.isEmpty ? Array(delimiter.dropFirst(2)) : delimiter) + Array("\r\n".utf8)
            form.body += "Content-Disposition: form-data; name=\"part\(index)\"\r\n\r\n".utf8
            form.events.append(part("part\(index)"))
            let content = content(like: delimiter, using: &random)
            form.body += content
            form.events += content.isEmpty ? [.endOfPart] : [.bytes(content), .endOfPart]
        }
        form.body += (form.body.isEmpty ? Array(delimiter.dropFirst(2)) : delimiter) + Array("--".utf8)
        form.events.append(.end)
        return form
    }

    /// Beginnings and ends of the delimiter and other bytes, without the delimiter itself.
    private static func content(like delimiter: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var content: [UInt8] = []
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: content += delimiter.prefix(Int.random(in: 0..<delimiter.count, using: &random))
            case 1: content += delimiter.suffix(Int.random(in: 0..<delimiter.count, using: &random))
            case 2: content += [[0x0D], [0x0A], [0x0D, 0x0A], [0x2D]].randomElement(using: &random) ?? []
            default:
                content += (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            }
        }
        // The line break before the content, and the one behind it, could complete a delimiter.
        let text = [0x0D, 0x0A] + content + delimiter
        let first = (0...text.count - delimiter.count).first { text[$0...].starts(with: delimiter) }
        return first == content.count + 2 ? content : []
    }

    @Test func aBodyOfChanceIsItsPartsHoweverItIsCut() throws {
        var random = SeededGenerator.forTest()
        var contents = 0
        for _ in 0..<seededCases(1000) {
            let form = Self.form(using: &random)
            if form.events.contains(where: { if case .bytes = $0 { true } else { false } }) { contents += 1 }
            let contentType = "multipart/form-data; boundary=\"\(form.boundary)\""
            for count in [0, 1, 3, 10, form.body.count] {
                let places = (0..<count).map { _ in Int.random(in: 0...form.body.count, using: &random) }.sorted()
                let events = try Self.events(of: form.body, cutAt: places, contentType: contentType)
                #expect(events == form.events, "\(form.boundary) \(form.body) \(places)")
            }
        }
        #expect(contents > 100)
    }

    /// Bodies with changed bytes: no trap, and the same outcome however they are cut.
    @Test func aChangedBodyEndsInTheSameWayHoweverItIsCut() throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(1000) {
            let form = Self.form(using: &random)
            var body = form.body
            for _ in 0..<Int.random(in: 1...3, using: &random) where !body.isEmpty {
                let place = Int.random(in: body.indices, using: &random)
                if Bool.random(using: &random) {
                    body.remove(at: place)
                } else {
                    body[place] = [0x0D, 0x0A, 0x2D, 0x20, 0x3B, 0x22, 0].randomElement(using: &random) ?? 0
                }
            }
            let contentType = "multipart/form-data; boundary=\"\(form.boundary)\""
            let whole = try Self.outcome(of: body, contentType: contentType)
            let single = try Self.outcome(of: body, cutAt: Array(1..<max(1, body.count)), contentType: contentType)
            #expect(whole == single, "\(form.boundary) \(body)")
        }
    }

    /// What is held back of a content is shorter than the boundary with its line break.
    @Test func contentPassesThrough() throws {
        var reader = try #require(MultipartReader(contentType: Self.contentType))
        _ = try reader.read(Array("--bound\r\n\(Self.disposition)".utf8))
        let chunk = Array(String(repeating: "x\r\n--boun", count: 10_000).utf8)
        var received = 0
        for index in 1...20 {
            for event in try reader.read(chunk) {
                if case .bytes(let bytes) = event { received += bytes.count }
            }
            #expect(index * chunk.count - received == "\r\n--boun".utf8.count)
        }
        let plain = [UInt8](repeating: 0x78, count: 1000)
        #expect(try reader.read(plain) == [Self.bytes("\r\n--boun"), .bytes(plain)])
    }
}

/// The search for the delimiter.
@Suite struct MultipartDelimiterTests {
    /// Texts of the delimiter's bytes, compared with a search at each place.
    @Test func theSearchFindsWhatASearchAtEachPlaceFinds() throws {
        var random = SeededGenerator.forTest()
        var found = (whole: 0, begun: 0, neither: 0)
        for _ in 0..<seededCases(20_000) {
            let letters = Array("ab-".utf8)
            let boundary = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                letters.randomElement(using: &random) ?? 0x61
            }
            let delimiter = try #require(MultipartDelimiter(boundary: String(decoding: boundary, as: UTF8.self)))
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                text += delimiter.bytes.prefix(Int.random(in: 0...delimiter.bytes.count, using: &random))
                if Bool.random(using: &random) { text.append(letters.randomElement(using: &random) ?? 0x61) }
            }
            let start = Int.random(in: 0...text.count, using: &random)
            let range = text.withUnsafeBytes { delimiter.firstRange(in: $0, from: start) }
            let expected = Self.range(of: delimiter.bytes, in: text, from: start)
            #expect(range == expected, "\(delimiter.bytes) in \(text) from \(start)")
            if range.isEmpty {
                found.neither += 1
            } else if range.count == delimiter.bytes.count {
                found.whole += 1
            } else {
                found.begun += 1
            }
        }
        #expect(found.whole > 100 && found.begun > 100 && found.neither > 100)
    }

    private static func range(of delimiter: [UInt8], in text: [UInt8], from start: Int) -> Range<Int> {
        for place in start..<text.count {
            let rest = text[place...].prefix(delimiter.count)
            if delimiter.starts(with: rest) { return place..<place + rest.count }
        }
        return text.count..<text.count
    }
}
