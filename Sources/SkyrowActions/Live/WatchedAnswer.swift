import SkyrowJSON
import SkyrowModel
import SkyrowStore
import SkyrowWire

/// What a query that is kept current has found, written once for all who get it.
struct WatchedAnswer: Sendable {
    let records: [(entry: WatchedResult.Entry, json: [UInt8])]
    /// The event of the number of records that match, or of the groups, from its name on: `counted","count":3}`; nil where
    /// nothing of the kind was asked.
    let rest: [UInt8]?
    let digest: Int?

    var entries: [WatchedResult.Entry] { records.map(\.entry) }

    /// Throws `135 Overloaded` for more than may be sent at once.
    init(_ result: QueryResult, limit: Int) throws(SkyrowError) {
        var records: [(entry: WatchedResult.Entry, json: [UInt8])] = []
        records.reserveCapacity(result.records.count)
        var bytes = 0
        for source in result.records {
            let writer = JSONWriter(capacity: 512)
            writer.record(source)
            let json = writer.bytes
            bytes += json.count
            guard bytes <= limit else { throw .watchedResultTooLarge(limit) }
            var id = RecordIDSink()
            source.emit(into: &id)
            guard let id = id.text else { throw SkyrowError.unexpected }
            records.append((WatchedResult.Entry(id: id, digest: Self.digest(json)), json))
        }
        self.records = records
        guard let count = result.count else {
            (rest, digest) = (nil, nil)
            return
        }
        let kind = result.countKind.map { ",\"count_kind\":\"\($0.rawValue)\"" } ?? ""
        let text = Array("counted\",\"count\":\(count)\(kind)}".utf8)
        (rest, digest) = (text, Self.digest(text))
    }

    init(_ result: AggregateResult, limit: Int) throws(SkyrowError) {
        records = []
        let writer = JSONWriter(capacity: 512)
        writer.groups(result)
        let json = writer.bytes
        guard json.count <= limit else { throw .watchedResultTooLarge(limit) }
        let text = Array("computed\",\"result\":".utf8) + json + [UInt8(ascii: "}")]
        (rest, digest) = (text, Self.digest(text))
    }

    private static func digest(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

/// Takes the id of a record.
private struct RecordIDSink: RecordSink {
    private(set) var text: String?

    mutating func beginRecord() {}
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        // That of the record itself comes first.
        guard text == nil, key.encoded.elementsEqual(#""_id":"#.utf8) else { return }
        switch value {
        case .recordID(let type, let id):
            text = "\(String(decoding: type, as: UTF8.self))/\(String(decoding: id, as: UTF8.self))"
        case .string(let bytes): text = String(decoding: bytes, as: UTF8.self)
        default: break
        }
    }
    mutating func beginTransients() {}
    mutating func transient(_ name: String) {}
    mutating func missingTransient() {}
    mutating func beginList(count: Int?) {}
    mutating func endList() {}
    mutating func endTransients() {}
    mutating func endRecord() {}
}

extension SkyrowError {
    fileprivate static func watchedResultTooLarge(_ limit: Int) -> SkyrowError {
        SkyrowError(
            .overloaded,
            "A result that is kept current has at most \(limit) bytes: ask for fewer records or fields."
        )
    }
}
