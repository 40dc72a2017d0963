import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// A change of a watched result.
enum WatchedChange: Hashable, Sendable {
    typealias List = WatchedList<RecordID, Record>

    case listed(List.Change)
    case counted(Int, CountKind?)
    case computed(AggregateGroups)

    /// Reads an event of `live:watch`; nil for one of `live:subscribe`, and for one that this version does not define.
    init?(_ kind: String, _ json: JSONView) throws(SkyrowError) {
        switch kind {
        case "entered", "updated":
            guard let index = json["index"]?.wholeNumber, let json = json["record"] else { return nil }
            let record = try Record(json)
            let (entry, place) = (List.Entry(id: record.id, value: record), Int(clamping: max(index, 0)))
            self = .listed(kind == "entered" ? .entered(entry, at: place) : .updated(entry, at: place))
        case "left":
            guard json["record"] == nil, let id = json["id"]?.string else { return nil }
            self = .listed(.left(try RecordID(id)))
        case "counted":
            guard let count = json["count"]?.wholeNumber.flatMap({ Int(exactly: $0) }) else {
                throw .invalidArgument("A count must be a whole number.", "changes")
            }
            self = .counted(count, json["count_kind"]?.string.flatMap { CountKind(rawValue: $0) })
        case "computed":
            guard let result = json["result"] else {
                throw .invalidArgument("Computed groups must have a result.", "changes")
            }
            self = .computed(try AggregateGroups(result))
        default: return nil
        }
    }
}

/// The result of `live:watch`, to which changes are applied.
///
/// ```swift
/// var result = WatchedResult()
/// result.apply([.listed(.entered(newest, at: 0))], isWhole: true)
/// result.apply([.listed(.left(newest.id))], isWhole: false)
/// ```
struct WatchedResult: Hashable, Sendable {
    private var list = WatchedChange.List()
    private(set) var count: Int?
    private(set) var countKind: CountKind?
    private(set) var groups = AggregateGroups(groups: [])

    var records: [Record] { list.entries.map(\.value) }

    /// - Parameters:
    ///   - changes: the changes of one message.
    ///   - isWhole: whether they replace the current result.
    mutating func apply(_ changes: [WatchedChange], isWhole: Bool) {
        if isWhole { self = WatchedResult() }
        list.apply(changes.compactMap { if case .listed(let change) = $0 { change } else { nil } })
        for change in changes {
            switch change {
            case .counted(let number, let kind): (count, countKind) = (number, kind)
            case .computed(let computed): groups = computed
            case .listed: break
            }
        }
    }
}
