@testable import SkyrowPostgres

/// Bytes as a WAL sender writes them.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    init(_ kind: Character? = nil) {
        if let byte = kind?.asciiValue { bytes.append(byte) }
    }

    func integer(_ value: some FixedWidthInteger) -> MessageWriter {
        var next = self
        withUnsafeBytes(of: value.bigEndian) { next.bytes.append(contentsOf: $0) }
        return next
    }

    func text(_ value: String) -> MessageWriter {
        var next = self
        next.bytes.append(contentsOf: Array(value.utf8) + [0])
        return next
    }

    func tag(_ value: Character) -> MessageWriter {
        var next = self
        next.bytes.append(value.asciiValue ?? 0)
        return next
    }

    /// A row: nil is null, an empty string a value that is unchanged, all others binary.
    func tuple(_ tag: Character, _ values: [String?]) -> MessageWriter {
        var next = self.tag(tag).integer(Int16(values.count))
        for value in values {
            switch value {
            case nil: next = next.tag("n")
            case ""?: next = next.tag("u")
            case let value?:
                next = next.tag("b").integer(Int32(value.utf8.count))
                next.bytes.append(contentsOf: value.utf8)
            }
        }
        return next
    }
}

/// The messages of a table `app.note (_id, title)`, whose number is 7.
enum NoteMessages {
    static let begin = MessageWriter("B").integer(Int64(0x200)).integer(Int64(11)).integer(Int32(42)).bytes
    static let commit = MessageWriter("C").integer(Int8(0)).integer(Int64(0x200)).integer(Int64(0x230))
        .integer(Int64(11)).bytes
    static let relation = MessageWriter("R").integer(Int32(7)).text("app").text("note").tag("f").integer(Int16(2))
        .integer(Int8(1)).text("_id").integer(Int32(25)).integer(Int32(-1))
        .integer(Int8(0)).text("title").integer(Int32(25)).integer(Int32(-1)).bytes
    static let insert = MessageWriter("I").integer(Int32(7)).tuple("N", ["1", "a"]).bytes
    static let update = MessageWriter("U").integer(Int32(7)).tuple("O", ["1", "a"]).tuple("N", ["1", ""]).bytes
    static let updateOfKey = MessageWriter("U").integer(Int32(7)).tuple("K", ["1", nil]).tuple("N", ["2", nil]).bytes
    static let updateAlone = MessageWriter("U").integer(Int32(7)).tuple("N", ["1", "b"]).bytes
    static let delete = MessageWriter("D").integer(Int32(7)).tuple("O", ["1", "a"]).bytes
    static let truncate = MessageWriter("T").integer(Int32(1)).integer(Int8(3)).integer(Int32(7)).bytes
    static let origin = MessageWriter("O").integer(Int64(5)).text("elsewhere").bytes
    static let type = MessageWriter("Y").integer(Int32(20001)).text("").text("mood").bytes
    static let message = MessageWriter("M").integer(Int8(1)).integer(Int64(9)).text("p").integer(Int32(2))
        .integer(Int16(0x4142)).bytes

    static let all = [
        begin, commit, relation, insert, update, updateOfKey, updateAlone, delete, truncate, origin, type, message,
    ]

    /// A message as the stream carries it.
    static func log(_ message: [UInt8], at position: Int64 = 0x100) -> ReplicationBuffer {
        ReplicationBuffer(MessageWriter("w").integer(position).integer(Int64(0x9999)).integer(Int64(1)).bytes + message)
    }

    static func keepalive(_ position: Int64, wantsReply: Bool = false) -> ReplicationBuffer {
        ReplicationBuffer(keepaliveBytes(position, wantsReply: wantsReply))
    }

    static func keepaliveBytes(_ position: Int64, wantsReply: Bool = false) -> [UInt8] {
        MessageWriter("k").integer(position).integer(Int64(1)).integer(UInt8(wantsReply ? 1 : 0)).bytes
    }
}

extension ReplicationTuple {
    /// A row in one line: `1|~|null`, where `~` is a value that is unchanged.
    var line: String {
        (0..<count).map { column in
            switch form(column) {
            case .null: "null"
            case .unchanged: "~"
            case .text, .binary:
                withExtendedLifetime(self) {
                    String(decoding: unsafeBytes(column) ?? .init(start: nil, count: 0), as: UTF8.self)
                }
            }
        }.joined(separator: "|")
    }
}
