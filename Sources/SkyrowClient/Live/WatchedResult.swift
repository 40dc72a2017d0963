import SkyrowJSON
import SkyrowModel
import SkyrowWire

/// What is different in a result that is kept current.
enum WatchedChange: Hashable, Sendable {
    /// The record is in the result now, or is another one, at that place.
    case placed(Record, at: Int)
    /// The record is in the result no more.
    case left(RecordID)
    case counted(Int, CountKind?)
    case computed(AggregateGroups)

    /// Reads an event of `live:watch`; nil for one of `live:subscribe`, and for one that this version does not define.
    init?(_ kind: String, _ json: JSONView) throws(SkyrowError) {
        switch kind {
        case "entered", "updated":
            guard let index = json["index"]?.wholeNumber, let record = json["record"] else { return nil }
            self = .placed(try Record(record), at: Int(clamping: max(index, 0)))
        case "left":
            guard json["record"] == nil, let id = json["id"]?.string else { return nil }
            self = .left(try RecordID(id))
        case "counted":
            guard let count = json["count"]?.wholeNumber.flatMap({ Int(exactly: $0) }) else {
                throw .invalidArgument("A count is a whole number.", "changes")
            }
            self = .counted(count, json["count_kind"]?.string.flatMap { CountKind(rawValue: $0) })
        case "computed":
            guard let result = json["result"] else {
                throw .invalidArgument("Groups that were computed come with a result.", "changes")
            }
            self = .computed(try AggregateGroups(result))
        default: return nil
        }
    }
}

/// The result of `live:watch`, to which its changes are applied.
///
/// ```swift
/// var result = WatchedResult()
/// result.apply([.placed(newest, at: 0)], isWhole: true)
/// result.apply([.left(newest.id)], isWhole: false)
/// ```
struct WatchedResult: Hashable, Sendable {
    private(set) var records: [Record] = []
    private(set) var count: Int?
    private(set) var countKind: CountKind?
    private(set) var groups = AggregateGroups(groups: [])

    /// Takes all records out that the changes name, and puts those with a place in, in their order.
    ///
    /// - Parameters:
    ///   - changes: those of one message.
    ///   - isWhole: whether they take the place of what is there.
    mutating func apply(_ changes: [WatchedChange], isWhole: Bool) {
        if isWhole { self = WatchedResult() }
        var named: Set<RecordID> = []
        for change in changes {
            switch change {
            case .placed(let record, _): named.insert(record.id)
            case .left(let id): named.insert(id)
            case .counted, .computed: break
            }
        }
        records.removeAll { named.contains($0.id) }
        for change in changes {
            switch change {
            case .placed(let record, let place): records.insert(record, at: min(place, records.count))
            case .counted(let number, let kind): (count, countKind) = (number, kind)
            case .computed(let computed): groups = computed
            case .left: break
            }
        }
    }
}
