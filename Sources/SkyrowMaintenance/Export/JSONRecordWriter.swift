import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// Writes records in the protocol's form, with `_database`: one a line, or as an array.
///
/// Ids are stored ones, `note/~ann/9` for a private record of ann. `NaN` and the infinities, which are not JSON
/// numbers, are strings.
struct JSONRecordWriter: RecordFileWriter {
    private static let access = MemberKey(ReservedColumn.access.rawValue)
    private static let owner = MemberKey(ReservedColumn.owner.rawValue)
    private static let ownerID = MemberKey(ReservedColumn.owner.member)

    private let isArray: Bool
    private var text: [UInt8] = []
    private var isFirst = true
    private let json = JSONWriter()
    private var members: RecordJSONWriter

    init(format: FileFormat) {
        isArray = format == .json
        members = RecordJSONWriter(json)
    }

    mutating func beginRecord() {
        members.beginRecord()
    }

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        switch value {
        case .null:
            // As in the protocol, NULLs are omitted, except for access lists.
            if key.encoded.elementsEqual(Self.access.encoded) { members.member(key, .null) }
        case .number(let number):
            members.member(key, CSVText.spelling(ofSpecial: number).map { .string($0) } ?? value)
        case .array(let elements):
            let spelled = elements.map { element -> BorrowedValue in
                guard case .number(let number) = element else { return element }
                return CSVText.spelling(ofSpecial: number).map { .string($0) } ?? element
            }
            spelled.withUnsafeBufferPointer { members.member(key, .array($0)) }
        case .string where key.encoded.elementsEqual(Self.owner.encoded):
            members.member(Self.ownerID, value)
        default:
            members.member(key, value)
        }
    }

    mutating func endRecord() {
        members.endRecord()
        if isArray { text.append(contentsOf: (isFirst ? "[\n" : ",\n").utf8) }
        json.withUnsafeBytes { text.append(contentsOf: $0) }
        if !isArray { text.append(UInt8(ascii: "\n")) }
        json.removeAll()
        isFirst = false
    }

    mutating func take() -> [UInt8] {
        defer { text.removeAll(keepingCapacity: true) }
        return text
    }

    mutating func finish() {
        if isArray { text.append(contentsOf: (isFirst ? "[]\n" : "\n]\n").utf8) }
    }
}
