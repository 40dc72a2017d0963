import SkyrowModel
import SkyrowProtocol

// Estimates of the memory that live queries hold for what clients sent: predicates as sent and as resolved.

extension RecordPredicate {
    /// Bytes of a condition without its values.
    private static let condition = 640
    /// Bytes for one byte of a regular expression, whose character classes are lists of ranges.
    private static let regexByte = 64

    var heldBytes: Int {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.reduce(Self.condition) { $0 + $1.heldBytes }
        case .not(let part), .elements(_, _, let part): Self.condition + part.heldBytes
        case .comparison(_, let left, let right): Self.condition + left.heldBytes + right.heldBytes
        case .between(let operand, let from, let to): Self.condition + operand.heldBytes + from.heldBytes + to.heldBytes
        case .match(let operand, let text): Self.condition + operand.heldBytes + 4 * text.utf8.count
        case .regex(let operand, let text, _): Self.condition + operand.heldBytes + Self.regexByte * text.utf8.count
        case .found(let operand, let query, _):
            Self.condition + operand.heldBytes + (query.predicate?.heldBytes ?? 0)
                + query.sort.count * Self.condition
        case .place(_, .inPolygon(let rings)):
            // The rings, and their copies across the 180th meridian.
            rings.reduce(Self.condition) { $0 + 3 * MemoryLayout<Location>.stride * $1.count }
        case .place, .related, .userRelation: Self.condition
        }
    }
}

extension Operand {
    fileprivate var heldBytes: Int {
        switch self {
        case .keyPath(let path), .function(_, let path): path.components.reduce(0) { $0 + 64 + $1.utf8.count }
        case .value(let value): value.heldBytes
        case .list(let values): values.reduce(0) { $0 + $1.heldBytes }
        }
    }
}

extension RecordValue {
    var heldBytes: Int {
        let length =
            switch self {
            case .string(let text): text.utf8.count
            case .json(let text): text.utf8.count
            case .bytes(let bytes): bytes.count
            case .reference(let id): 64 + id.id.utf8.count
            case .geometry(let geometry): MemoryLayout<Location>.stride * geometry.positions.count
            case .asset(let asset): asset.name.rawValue.utf8.count + (asset.url?.utf8.count ?? 0)
            case .array(let elements): elements.reduce(0) { $0 + $1.heldBytes }
            case .null, .integer, .number, .boolean, .datetime, .sequence, .location, .relation: 0
            }
        return 2 * (MemoryLayout<RecordValue>.stride + length)
    }
}

extension LiveQuestion {
    var heldBytes: Int {
        (query.predicate?.heldBytes ?? 0) + (query.desiredFields ?? []).reduce(0) { $0 + 64 + $1.utf8.count }
    }
}

extension LiveFilter {
    var heldBytes: Int {
        var names = watched?.count ?? 0
        if case .some(let fields) = previous { names += fields.count }
        return 64 * names
    }
}

extension LiveWatchRequest.Subject {
    /// Bytes of a sort key, an inclusion or a group key.
    private static let part = 640

    var heldBytes: Int {
        switch self {
        case .records(let query):
            (query.predicate?.heldBytes ?? 0) + Self.part * (query.sort.count + query.include.count)
                + ((query.desiredFields ?? []) + query.omittedFields).reduce(0) { $0 + 64 + $1.utf8.count }
        case .groups(let query):
            (query.predicate?.heldBytes ?? 0) + (query.having?.heldBytes ?? 0)
                + Self.part * (query.groupKeys.count + query.aggregates.count + query.sort.count)
        }
    }
}
