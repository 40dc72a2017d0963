import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The result of a query that is kept current, encoded once for all its receivers.
struct WatchedAnswer: Sendable {
    /// The ids of records, each with a hash of its visible content.
    typealias List = WatchedList<String, Int>

    let records: [(entry: List.Entry, json: [UInt8])]
    /// The event with the number of matching records, or with the groups, from its name on: `counted","count":3}`; nil if the
    /// query requests neither.
    let rest: [UInt8]?
    let digest: Int?

    var entries: [List.Entry] { records.map(\.entry) }

    /// Throws `135 Overloaded` for a result above the limit.
    ///
    /// - Parameters:
    ///   - hidesFields: whether fields are hidden from the receivers. Values that every write changes are then ignored: they would
    ///     disclose that a hidden field was written.
    ///   - links: makes the addresses of files; nil for records without addresses.
    init(_ result: QueryResult, limit: Int, hidesFields: Bool, links: (any AssetLinks)? = nil) throws(SkyrowError) {
        var records: [(entry: List.Entry, json: [UInt8])] = []
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
            let judged = hidesFields ? Self.withoutStamps(source) : json
            // Addresses change with time, so they are no part of what is compared.
            let entry = List.Entry(id: id, value: Self.digest(judged))
            records.append((entry, links.map { Self.linked(json, by: $0) } ?? json))
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

    /// Returns the events of a complete result.
    ///
    /// - Parameter head: the beginning of each event.
    func beginning(_ head: [UInt8]) -> [[[UInt8]]] {
        var events = records.enumerated().map { place, record in
            LiveText.event(head, "entered", record: record.json, at: place)
        }
        if let rest { events.append(LiveText.event(head, rest: rest)) }
        return events
    }

    private static func withoutStamps(_ source: some RecordSource) -> [UInt8] {
        let writer = JSONWriter(capacity: 512)
        var sink = UnstampedSink(writer: RecordJSONWriter(writer))
        source.emit(into: &sink)
        return writer.bytes
    }

    private static func linked(_ json: [UInt8], by links: any AssetLinks) -> [UInt8] {
        let writer = JSONWriter(capacity: json.count + 256)
        writer.links = links
        json.withUnsafeBytes { writer.json(linking: $0) }
        return writer.bytes
    }

    private static func digest(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}

/// Writes a record and its inclusions without the members that every write changes.
private struct UnstampedSink: RecordSink {
    var writer: RecordJSONWriter
    private static let stamps = ["_revision", "_updated_at", "_updated_by"].map { Array("\"\($0)\":".utf8) }

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        guard !Self.stamps.contains(where: { key.encoded.elementsEqual($0) }) else { return }
        writer.member(key, value)
    }

    mutating func beginRecord() { writer.beginRecord() }
    mutating func beginTransients() { writer.beginTransients() }
    mutating func transient(_ name: String) { writer.transient(name) }
    mutating func transientNumber(_ number: Double) { writer.transientNumber(number) }
    mutating func transientID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        writer.transientID(type: type, id: id)
    }
    mutating func missingTransient() { writer.missingTransient() }
    mutating func beginList(count: Int?) { writer.beginList(count: count) }
    mutating func endList() { writer.endList() }
    mutating func endTransients() { writer.endTransients() }
    mutating func endRecord() { writer.endRecord() }
}

/// Reads the id of a record.
private struct RecordIDSink: RecordSink {
    private(set) var text: String?

    mutating func beginRecord() {}
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        // The id of the record itself comes first.
        guard text == nil, key.encoded.elementsEqual(#""_id":"#.utf8) else { return }
        switch value {
        case .recordID(let type, let id):
            text = "\(String(decoding: type, as: UTF8.self))/\(String(decoding: id, as: UTF8.self))"
        case .string(let bytes): text = String(decoding: bytes, as: UTF8.self)
        default: break
        }
    }
    mutating func endRecord() {}
}

extension SkyrowError {
    fileprivate static func watchedResultTooLarge(_ limit: Int) -> SkyrowError {
        SkyrowError(
            .overloaded,
            "The result of a live query can have at most \(limit) bytes: request fewer records or fields."
        )
    }
}
