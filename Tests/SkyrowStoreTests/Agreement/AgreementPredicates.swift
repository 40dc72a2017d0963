import SkyrowModel
import SkyrowTestSupport

@testable import SkyrowQuery

/// Makes predicates of the grammar, such as have a meaning for the fields they name.
struct AgreementPredicates {
    let world: AgreementWorld
    let caller: Caller
    var random: SeededGenerator
    /// How many queries may still be made inside of predicates.
    private var queries = Subquery.maximumCount
    /// How often words may still be asked for.
    private var wordQueries = 8
    /// How often they may still lead to several records.
    var lists = RecordPredicate.maximumLists
    /// How many conditions `near` may still be made: one a predicate, and none where it would give the order.
    var nears = 0

    init(world: AgreementWorld, caller: Caller, random: SeededGenerator) {
        self.world = world
        self.caller = caller
        self.random = random
    }

    /// What may be compared with what.
    struct Name {
        var path: String
        var type: FieldType
        /// The kind of id, where it is one.
        var id: RecordTypeName?
    }

    private static let names: [Name] = {
        let things = AgreementWorld.thingFields.map { Name(path: $0.name, type: $0.type) }
        let places = AgreementWorld.placeFields.map { Name(path: "place.\($0.name)", type: $0.type) }
        let next = AgreementWorld.thingFields.map { Name(path: "next.\($0.name)", type: $0.type) }
        return things + things + places + next + [
            Name(path: "_id", type: .string, id: AgreementWorld.thing),
            Name(path: "next._id", type: .string, id: AgreementWorld.thing),
            Name(path: "place._id", type: .string, id: AgreementWorld.place),
            Name(path: "_owner_id", type: .string, id: .user), Name(path: "_created_by", type: .string, id: .user),
            Name(path: "_updated_by", type: .string, id: .user), Name(path: "place._owner", type: .string, id: .user),
            Name(path: "_created_at", type: .datetime), Name(path: "_updated_at", type: .datetime),
            Name(path: "_revision", type: .integer), Name(path: "next._revision", type: .integer),
            Name(path: "_access", type: .unknown("")), Name(path: "place._access", type: .unknown("")),
            Name(path: "_owner.username", type: .string), Name(path: "_owner.email", type: .string),
            Name(path: "_owner._verified", type: .boolean), Name(path: "_created_by._verified", type: .boolean),
            Name(path: "next._owner._verified", type: .boolean), Name(path: "_created_by.email", type: .string),
            Name(path: "next.place.title", type: .string),
            Name(path: "next.next.score", type: .number), Name(path: "next.next.tags", type: .json),
            Name(path: "place.spot", type: .location), Name(path: "at", type: .location),
            Name(path: "place.home.rank", type: .integer), Name(path: "place.home.home.title", type: .string),
        ]
    }()

    private func isOpen(_ name: Name) -> Bool {
        // Login keys are shown to no stranger, nor whether an address is verified.
        caller.userID != nil || caller.isMaster
            || !["email", "username", "_verified"].contains { name.path.hasSuffix($0) }
    }

    mutating func name(_ fits: (Name) -> Bool = { _ in true }) -> Name {
        random.element(Self.names.filter { isOpen($0) && fits($0) })
    }

    // MARK: Predicates

    mutating func predicate(size: Int) -> Predicate {
        guard size > 1 else { return comparison() }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .none(parts(size))
        case 1: return .not(predicate(size: size - 1))
        case 2...4: return .and(parts(size))
        default: return .or(parts(size))
        }
    }

    mutating func parts(_ size: Int) -> [Predicate] {
        if random.oneIn(40) { return [] }
        var parts: [Predicate] = []
        var left = size - 1
        while left > 0 {
            let share = Int.random(in: 1...left, using: &random)
            parts.append(predicate(size: share))
            left -= share
        }
        return parts
    }

    mutating func comparison() -> Predicate {
        if random.oneIn(6) { return pair() }
        if queries > 0, random.oneIn(10) { return found() }
        if random.oneIn(5) { return elements(depth: 1) }
        if lists > 0, random.oneIn(12) { return several() }
        if lists > 0, random.oneIn(12) { return members() }
        let name = self.name()
        let keyPath = Operand.keyPath(path(name.path))
        if random.oneIn(12) { return .comparison(.exists, keyPath, .value(.boolean(random.oneIn(2)))) }
        if random.oneIn(10) {
            let any: [ComparisonOperator] = [.eq, .neq, .gt, .like]
            return .comparison(random.oneIn(2) ? .eq : random.element(any), keyPath, .value(.null))
        }
        switch (name.type, name.id) {
        case (.unknown, _):
            return .comparison(random.element([.eq, .neq]), keyPath, .value(.null))
        case (.json, _):
            return json(name)
        case (.array(let element), _):
            return array(name, element)
        case (.reference(let target), _):
            return equality(keyPath, target)
        case (_, let target?) where random.oneIn(2):
            return equality(keyPath, target)
        case (.location, _):
            return place(name)
        case (.geometry, _):
            return geometry(path(name.path))
        case (.asset, _):
            return file(keyPath)
        case (.string, _):
            if random.oneIn(2) { return text(name, isPlain: name.id == nil) }
        case (.bytes, _):
            if random.oneIn(4) { return .comparison(.startsWith, keyPath, .value(literal(name))) }
        default:
            break
        }
        if random.oneIn(5) {
            return .comparison(random.oneIn(3) ? .nin : .in, keyPath, .list(list(5) { $0.literal(name) }))
        }
        if random.oneIn(6) { return .between(keyPath, literal(name), literal(name)) }
        let comparison = random.element([ComparisonOperator.eq, .neq, .gt, .gte, .lt, .lte])
        let value = Operand.value(literal(name))
        return random.oneIn(4) ? .comparison(comparison, value, keyPath) : .comparison(comparison, keyPath, value)
    }

    /// A value that is looked up among those of a query.
    mutating func found() -> Predicate {
        queries -= 1
        let forms: [(field: String, type: RecordTypeName, key: String?)] = [
            ("place", AgreementWorld.place, nil), ("next", AgreementWorld.thing, nil),
            ("_id", AgreementWorld.thing, "next"), ("place", AgreementWorld.place, "home"),
            ("name", AgreementWorld.place, "title"), ("count", AgreementWorld.place, "rank"),
            ("score", AgreementWorld.place, "height"), ("alias", AgreementWorld.thing, "nick"),
            ("next.place", AgreementWorld.place, nil), ("_owner_id", AgreementWorld.place, "_owner"),
            ("places", AgreementWorld.place, nil), ("labels", AgreementWorld.place, "title"),
            ("counts", AgreementWorld.place, "rank"), ("likes", AgreementWorld.place, nil),
        ]
        var form = random.element(forms)
        if form.field == "likes" {
            if lists == 0 { form = forms[0] } else { lists -= 1 }
        }
        let isArray = ["places", "labels", "counts", "likes"].contains(form.field)
        let own = form.type == AgreementWorld.place ? "place." : "next."
        let names = Self.names.filter { name in
            guard name.path.hasPrefix(own), name.path.split(separator: ".").count == 2 else { return false }
            return switch name.type {
            case .string, .integer, .boolean, .number: name.id == nil
            default: false
            }
        }
        var predicate: Predicate?
        if !random.oneIn(3) {
            let name = random.element(names)
            let subject = path(String(name.path.dropFirst(own.count)))
            let comparison = random.element([ComparisonOperator.eq, .neq, .gte, .lt])
            predicate = .comparison(comparison, .keyPath(subject), .value(literal(name)))
            if random.oneIn(3) { predicate = predicate.map { .not($0) } }
        }
        var query = Subquery(type: form.type, predicate: predicate, key: form.key.map { path($0) })
        if random.oneIn(3) {
            query.limit = random.element([1, 2, 5, 20])
            query.sort =
                names.isEmpty || random.oneIn(3)
                ? []
                : (0..<2).map { _ in
                    let name = random.element(names)
                    let nulls: SortKey.Nulls? = random.oneIn(2) ? nil : random.oneIn(2) ? .first : .last
                    return SortKey(
                        path(String(name.path.dropFirst(own.count))),
                        random.oneIn(2) ? .ascending : .descending,
                        nulls
                    )
                }
        }
        return .found(.keyPath(path(form.field)), by: query, isNegated: !isArray && random.oneIn(2))
    }

    /// A list of some values, `null` among them now and then.
    mutating func list(_ bound: Int, _ value: (inout Self) -> RecordValue) -> [RecordValue] {
        (0..<Int.random(in: 0..<bound, using: &random)).map { _ in random.oneIn(8) ? .null : value(&self) }
    }

    /// What is asked of a text, or of its lower case.
    mutating func text(_ name: Name, isPlain: Bool) -> Predicate {
        let folds = isPlain && random.oneIn(3)
        let subject: Operand = folds ? .function(.fold, path(name.path)) : .keyPath(path(name.path))
        if isPlain, wordQueries > 0, random.oneIn(8) {
            wordQueries -= 1
            let words = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let word = random.element(AgreementCorpus.texts.filter { $0.utf8.count < 40 && $0 != "\"" })
                return random.element(["", "", "", "-", "or "]) + word + random.element(["", "", "*"])
            }
            return .match(subject, words.joined(separator: " "))
        }
        if random.oneIn(4) {
            var generator = RegexGenerator(random: random)
            let pattern = generator.pattern()
            random = generator.random
            return .regex(subject, pattern, ignoresCase: random.oneIn(3))
        }
        if random.oneIn(2) {
            return .comparison(random.element([.like, .ilike]), subject, .value(.string(pattern(name))))
        }
        let comparison = random.element([
            ComparisonOperator.startsWith, .endsWith, .contains, .eq, .neq, .lt, .gte, .startsWith, .contains,
        ])
        let pieces = AgreementCorpus.texts.filter { $0.utf8.count < 40 } + AgreementCorpus.ids
        return .comparison(comparison, subject, .value(.string(random.element(pieces))))
    }

    /// What is asked of a JSON field or of a value inside of it.
    mutating func json(_ name: Name) -> Predicate {
        let field = path(name.path)
        if random.oneIn(6) {
            return .comparison(.in, .value(.string(random.element(AgreementCorpus.names))), .keyPath(field))
        }
        let isInside = random.oneIn(2)
        var inside = isInside ? path("\(name.path).\(random.element(AgreementCorpus.jsonPaths))") : field
        if random.oneIn(8) {
            let bound = RecordValue.integer(Int64.random(in: 0...3, using: &random))
            return .comparison(random.element([.eq, .lt, .gte]), .function(.size, inside), .value(bound))
        }
        if isInside, random.oneIn(3) { return typed(&inside) }
        let lists: [ComparisonOperator] = [.in, .nin, .containsAll, .containsAny, .containedBy]
        if random.oneIn(2) {
            let comparison = random.element(lists)
            var values = list(5) { $0.jsonLiteral() }
            if comparison != .in, comparison != .nin { values.removeAll { $0 == .null } }
            return .comparison(comparison, .keyPath(inside), .list(values))
        }
        if isInside, random.oneIn(2) {
            let value = random.element(
                AgreementCorpus.jsonLiterals.filter { if case .json = $0 { false } else { true } }
                    + AgreementCorpus.moments.map { .datetime($0) }
            )
            return .comparison(random.element([.lt, .lte, .gt, .gte]), .keyPath(inside), .value(value))
        }
        return .comparison(random.element([.eq, .neq, .contains]), .keyPath(inside), .value(jsonLiteral()))
    }

    /// A value inside JSON that is read as one of a type.
    mutating func typed(_ inside: inout KeyPath) -> Predicate {
        let type = random.element(JSONValueType.allCases)
        inside.jsonType = type
        switch type {
        case .string:
            return random.oneIn(2)
                ? .comparison(.ilike, .keyPath(inside), .value(.string(random.element(AgreementCorpus.pieces))))
                : .comparison(.eq, .function(.fold, inside), .value(.string(random.element(["A", "a", "σåB", "x"]))))
        case .number:
            let value: RecordValue = random.oneIn(2) ? .integer(10) : .number(0.1)
            return .comparison(random.element([.eq, .neq, .lt, .gte]), .keyPath(inside), .value(value))
        case .boolean:
            return .comparison(random.element([.eq, .neq, .gt]), .keyPath(inside), .value(.boolean(random.oneIn(2))))
        case .datetime:
            let moment = random.element(AgreementCorpus.moments + AgreementCorpus.instants)
            if random.oneIn(4) {
                let moments = AgreementCorpus.moments.map { RecordValue.datetime($0) }
                return .comparison(random.element([.in, .nin]), .keyPath(inside), .list(moments))
            }
            // What is asked of an element names no field of its record.
            if inside.components[0] != "$", random.oneIn(4) {
                return .comparison(.lte, .keyPath(inside), .keyPath(path("due")))
            }
            let comparison: ComparisonOperator = random.element([.eq, .neq, .lt, .lte, .gt, .gte])
            return .comparison(comparison, .keyPath(inside), .value(.datetime(moment)))
        }
    }

    mutating func jsonLiteral() -> RecordValue {
        random.oneIn(2)
            ? random.element(AgreementCorpus.jsonLiterals) : AgreementCorpus.json(random.element(AgreementCorpus.json))
    }

    /// What is asked of an array of one type.
    mutating func array(_ name: Name, _ element: ElementType) -> Predicate {
        let keyPath = Operand.keyPath(path(name.path))
        if random.oneIn(8) {
            let bound = RecordValue.integer(Int64.random(in: 0...3, using: &random))
            return .comparison(random.element([.eq, .lt, .gte]), .function(.size, path(name.path)), .value(bound))
        }
        if random.oneIn(2) {
            let comparison = random.element([ComparisonOperator.eq, .neq, .contains])
            if comparison == .contains, random.oneIn(3) { return .comparison(.in, .value(single(element)), keyPath) }
            let isWhole = comparison != .contains && random.oneIn(2)
            return .comparison(comparison, keyPath, .value(isWhole ? whole(name, element) : single(element)))
        }
        let comparison = random.element([
            ComparisonOperator.in, .nin, .containsAll, .containsAny, .containedBy,
        ])
        let takesNull = comparison == .in || comparison == .nin
        var values = list(5) { $0.random.oneIn(4) && takesNull ? $0.whole(name, element) : $0.single(element) }
        if !takesNull { values.removeAll { $0 == .null } }
        return .comparison(comparison, keyPath, .list(values))
    }

    mutating func single(_ element: ElementType) -> RecordValue {
        switch element {
        case .string: return .string(random.element(AgreementCorpus.texts))
        case .integer:
            if random.oneIn(4) { return .number(random.element([2.5, 1, 0x1p53, 1e300])) }
            return .integer(
                random.oneIn(2) ? Int64.random(in: -3...3, using: &random) : random.element(AgreementCorpus.integers)
            )
        case .number:
            if random.oneIn(4) { return .integer(random.element(AgreementCorpus.integers)) }
            return .number(random.element(AgreementCorpus.numbers.filter { !$0.isNaN }))
        case .boolean: return .boolean(random.oneIn(2))
        case .reference(let target): return reference(target)
        }
    }

    /// An array: that of a record without what it has not, or a new one.
    mutating func whole(_ name: Name, _ element: ElementType) -> RecordValue {
        if random.oneIn(2), let field = try? FieldName(name.path),
            case .array(let elements)? = random.element(world.all(AgreementWorld.thing)).fields[field]
        {
            let values = elements.compactMap { $0 }.compactMap { literal -> RecordValue? in
                switch literal {
                case .text(let text):
                    if case .reference = element { return .string(StoredID.wireID(of: text)) }
                    return .string(text)
                case .integer(let integer): return .integer(integer)
                case .number(let number): return number.isNaN ? nil : .number(number)
                case .boolean(let flag): return .boolean(flag)
                case .decimal, .datetime, .bytes, .location, .geometry: return nil
                }
            }
            return .array(values)
        }
        return .array((0..<Int.random(in: 0..<3, using: &random)).map { _ in single(element) })
    }

    /// Two key paths of types that compare.
    mutating func pair() -> Predicate {
        let left = name { name in
            if case .unknown = name.type { false } else { true }
        }
        let isWhole =
            switch left.type {
            case .json, .array: true
            default: false
            }
        let isReference = { (name: Name) -> RecordTypeName? in
            if case .reference(let target) = name.type { target } else { name.id }
        }
        let right = name { other in
            switch (left.type, other.type) {
            case (.unknown, _), (_, .unknown): false
            case (.integer, .sequence), (.integer, .number), (.sequence, .integer), (.sequence, .number),
                (.number, .integer), (.number, .sequence):
                true
            default: isReference(left) == isReference(other) && (isReference(left) != nil || left.type == other.type)
            }
        }
        // The ids of users are texts, those of other records are not.
        let isOrdered = isReference(left) == nil && !isWhole && ![.location, .geometry, .asset].contains(left.type)
        let comparison = random.element(isOrdered ? [ComparisonOperator.eq, .neq, .gt, .gte, .lt, .lte] : [.eq, .neq])
        return .comparison(comparison, .keyPath(path(left.path)), .keyPath(path(right.path)))
    }

    mutating func file(_ keyPath: Operand) -> Predicate {
        let files = AgreementCorpus.assets + [asset("missing.png")]
        if random.oneIn(3) {
            return .comparison(
                random.element([.in, .nin]),
                keyPath,
                .list(list(4) { .asset($0.random.element(files)) })
            )
        }
        return .comparison(random.element([.eq, .neq]), keyPath, .value(.asset(random.element(files))))
    }

    mutating func equality(_ keyPath: Operand, _ target: RecordTypeName) -> Predicate {
        if random.oneIn(3) {
            let count = Int.random(in: 0..<4, using: &random)
            return .comparison(.in, keyPath, .list((0..<count).map { _ in reference(target) }))
        }
        return .comparison(random.element([.eq, .neq]), keyPath, .value(reference(target)))
    }

    mutating func reference(_ target: RecordTypeName) -> RecordValue {
        let ids = AgreementCorpus.ids.filter { (try? RecordID(type: target, id: $0)) != nil }
        let wireID =
            random.oneIn(3)
            ? random.element(ids) : StoredID.wireID(of: random.element(world.all(target)).storedID)
        guard random.oneIn(2), let id = try? RecordID(type: target, id: wireID) else { return .string(wireID) }
        return .reference(id)
    }

    // MARK: Literals

    /// Half of the literals are values of records.
    mutating func literal(_ name: Name) -> RecordValue {
        if random.oneIn(2), let stored = stored(name) { return stored }
        switch name.type {
        case .string where name.id == .user: return .string(random.element(AgreementCorpus.users))
        case .string where name.id != nil: return .string(random.element(AgreementCorpus.ids))
        case .string: return .string(random.element(AgreementCorpus.texts))
        case .integer, .sequence, .number:
            let finite = AgreementCorpus.numbers.filter { !$0.isNaN }
            return random.oneIn(2)
                ? .integer(random.element(AgreementCorpus.integers)) : .number(random.element(finite))
        case .boolean: return .boolean(Bool.random(using: &random))
        case .datetime: return .datetime(random.element(AgreementCorpus.instants))
        case .bytes: return .bytes(random.element(AgreementCorpus.bytes))
        case .json, .reference, .array, .location, .geometry, .asset, .relation, .unknown: return .null
        }
    }

    mutating func stored(_ name: Name) -> RecordValue? {
        guard let last = name.path.split(separator: ".").last, let field = try? FieldName(String(last)) else {
            return nil
        }
        let type = name.path.hasPrefix("place.") ? AgreementWorld.place : AgreementWorld.thing
        switch random.element(world.all(type)).fields[field] {
        case .scalar(.text(let text)): return .string(text)
        case .scalar(.integer(let integer)): return .integer(integer)
        case .scalar(.number(let number)): return number.isNaN ? nil : .number(number)
        case .scalar(.boolean(let flag)): return .boolean(flag)
        case .scalar(.datetime(let instant)): return .datetime(instant)
        case .scalar(.bytes(let bytes)): return .bytes(bytes)
        case .scalar(.location(let location)): return .location(location)
        case .scalar(.geometry(let geometry)): return .geometry(geometry)
        case .json, .scalar(.decimal), .array, .opaque, nil: return nil
        }
    }

    mutating func pattern(_ name: Name) -> String {
        if random.oneIn(3), case .string(let text)? = stored(name), text.utf8.count < 40, !text.contains("\\") {
            return random.element(["\(text)%", "%\(text)", text])
        }
        return (0..<Int.random(in: 0..<5, using: &random)).map { _ in random.element(AgreementCorpus.pieces) }.joined()
    }

    // MARK: Orders

    mutating func sort() -> [SortKey] {
        (0..<Int.random(in: 0..<4, using: &random)).map { _ in
            let name = self.name { name in
                switch name.type {
                case .json, .array, .location, .geometry, .unknown: false
                default: true
                }
            }
            let direction: SortKey.Direction = random.oneIn(2) ? .ascending : .descending
            let nulls: SortKey.Nulls? = random.oneIn(2) ? nil : random.oneIn(2) ? .first : .last
            if random.oneIn(8) {
                var key = SortKey(path("at"), direction, nulls)
                key.function = .distance(location())
                return key
            }
            guard !random.oneIn(6) else {
                var inside = path("tags.\(random.element(AgreementCorpus.jsonPaths))")
                inside.jsonType = random.element(JSONValueType.allCases)
                return SortKey(inside, direction, nulls)
            }
            return SortKey(path(name.path), direction, nulls)
        }
    }
}
