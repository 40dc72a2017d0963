import SkyrowModel
import SkyrowTestSupport

@testable import SkyrowQuery

// What is asked of elements, and of the records that arrays and relations lead to.

extension AgreementPredicates {
    /// What is asked of the elements of an array.
    mutating func elements(depth: Int) -> Predicate {
        let quantifier = random.element(Predicate.Quantifier.allCases)
        if lists > 0, random.oneIn(4) {
            lists -= 1
            var part = random.oneIn(6) ? place("$", .reference(AgreementWorld.place)) : comparisonOfPlace(prefix: "")
            if random.oneIn(3) { part = .or([part, .not(comparisonOfPlace(prefix: "$."))]) }
            return .elements(path(random.element(["places", "next.places", "likes", "next.likes"])), quantifier, part)
        }
        let name = name { name in
            switch name.type {
            case .array(.reference), .unknown: false
            case .array, .json: true
            default: false
            }
        }
        guard case .array(let element) = name.type else {
            let inside = random.oneIn(2) ? name.path : "\(name.path).\(random.element(AgreementCorpus.jsonPaths))"
            if depth < Predicate.maximumElementDepth, random.oneIn(5) {
                var inner = elementsOfJSON(depth: depth + 1)
                if random.oneIn(2) { inner = .none([inner]) }
                return .elements(path(inside), quantifier, inner)
            }
            return .elements(path(inside), quantifier, ofElement(.json))
        }
        return .elements(path(name.path), quantifier, ofElement(element.fieldType))
    }

    mutating func elementsOfJSON(depth: Int) -> Predicate {
        let inside = random.oneIn(2) ? "$" : "$.\(random.element(AgreementCorpus.jsonPaths))"
        let quantifier = random.element(Predicate.Quantifier.allCases)
        guard depth < Predicate.maximumElementDepth, random.oneIn(3) else {
            return .elements(path(inside), quantifier, ofElement(.json))
        }
        return .elements(path(inside), quantifier, elementsOfJSON(depth: depth + 1))
    }

    /// A comparison of an element with a literal of its type, and perhaps a second one.
    mutating func ofElement(_ type: FieldType) -> Predicate {
        let part = oneOfElement(type)
        return switch Int.random(in: 0..<6, using: &random) {
        case 0: .not(part)
        case 1: .and([part, oneOfElement(type)])
        case 2: .or([part, .not(oneOfElement(type))])
        default: part
        }
    }

    mutating func oneOfElement(_ type: FieldType) -> Predicate {
        let element = Name(path: "$", type: type)
        let keyPath = Operand.keyPath(path("$"))
        if random.oneIn(6) { return .comparison(.exists, keyPath, .value(.boolean(random.oneIn(2)))) }
        if random.oneIn(8) { return .comparison(random.element([.eq, .gt]), keyPath, .value(.null)) }
        switch type {
        case .json: return json(element)
        case .string where random.oneIn(2): return text(element, isPlain: true)
        default: break
        }
        if random.oneIn(4) {
            return .comparison(random.oneIn(3) ? .nin : .in, keyPath, .list(list(5) { $0.literal(element) }))
        }
        return .comparison(random.element([.eq, .neq, .gt, .gte, .lt, .lte]), keyPath, .value(literal(element)))
    }

    /// A key path that leads to several records.
    mutating func several() -> Predicate {
        if lists > 1, random.oneIn(3) { return pairOfSeveral() }
        lists -= 1
        return comparisonOfPlace(
            prefix: random.element(["places.", "next.places.", "likes.", "next.likes."]),
            isAmongSeveral: true
        )
    }

    /// Two key paths of which one or both lead to several records.
    private mutating func pairOfSeveral() -> Predicate {
        let several = ["places.", "next.places.", "likes.", "next.likes.", "friends.place.", "friends.next.place."]
        let one = ["", "next.", "place.", "next.place."]
        func name(_ prefix: String, _ ofThing: String, _ ofPlace: String) -> Operand {
            .keyPath(path(prefix + (prefix.isEmpty || prefix == "next." ? ofThing : ofPlace)))
        }
        let (thing, place, isOrdered) = random.element([
            ("name", "title", true), ("count", "rank", true), ("score", "rank", true), ("count", "height", true),
            ("flag", "open", true), ("spot", "spot", false), ("place", "home", false), ("place", "_id", false),
            ("_owner_id", "_created_by", true),
        ])
        let comparison = random.element(isOrdered ? [ComparisonOperator.eq, .gt, .gte, .lt, .lte] : [.eq])
        let left = name(random.element(several), thing, place)
        let isBoth = random.oneIn(2)
        lists -= isBoth ? 2 : 1
        let right = name(random.element(isBoth ? several : one), thing, place)
        return random.oneIn(2) ? .comparison(comparison, left, right) : .comparison(comparison, right, left)
    }

    /// What is asked of a relation.
    mutating func members() -> Predicate {
        lists -= 1
        let relation = random.element(["likes", "next.likes", "friends"])
        let target = relation == "friends" ? AgreementWorld.thing : AgreementWorld.place
        let keyPath = Operand.keyPath(path(relation))
        switch Int.random(in: 0..<9, using: &random) {
        case 8:
            let members = list(6) { $0.reference(target) }.filter { $0 != .null }
            return .comparison(.containsAll, keyPath, .list(members))
        case 0: return .comparison(.exists, keyPath, .value(.boolean(random.oneIn(2))))
        case 1: return .comparison(random.element([.eq, .neq]), keyPath, .value(.null))
        case 2: return .comparison(.in, keyPath, .list(list(5) { $0.reference(target) }))
        case 3: return .comparison(.containsAny, keyPath, .list([reference(target), reference(target)]))
        case 4:
            let bound = RecordValue.integer(Int64.random(in: 0...3, using: &random))
            return .comparison(random.element([.eq, .lt, .gte]), .function(.size, path(relation)), .value(bound))
        case 5:
            let owner = world.all(AgreementWorld.thing).compactMap {
                try? RecordID(type: AgreementWorld.thing, id: StoredID.wireID(of: $0.storedID))
            }
            return .related(to: random.element(owner), path("friends"))
        case 6: return .comparison(.contains, keyPath, .value(reference(target)))
        default:
            let value = Operand.value(reference(target))
            return random.oneIn(3) ? .comparison(.eq, value, keyPath) : .comparison(.eq, keyPath, value)
        }
    }

    mutating func comparisonOfPlace(prefix: String, isAmongSeveral: Bool = false) -> Predicate {
        let fields = AgreementWorld.placeFields
        let (name, type) = random.element(
            fields.map { ($0.name, $0.type) } + [("home.rank", .integer), ("home.home.title", .string)]
        )
        return place(prefix + name, type, isAmongSeveral: isAmongSeveral)
    }

    mutating func place(_ name: String, _ type: FieldType, isAmongSeveral: Bool = false) -> Predicate {
        let keyPath = Operand.keyPath(path(name))
        if random.oneIn(5) { return .comparison(.exists, keyPath, .value(.boolean(random.oneIn(2)))) }
        if random.oneIn(8) { return .comparison(.eq, keyPath, .value(.null)) }
        if type == .location {
            return isAmongSeveral
                ? .place(path(name), .inPolygon(polygon())) : place(Name(path: name, type: type))
        }
        if case .reference(let target) = type {
            return .comparison(isAmongSeveral || random.oneIn(2) ? .eq : .neq, keyPath, .value(reference(target)))
        }
        let value = literal(Name(path: "place.\(name.split(separator: ".").last ?? "")", type: type))
        if random.oneIn(5) { return .comparison(.in, keyPath, .list([value, .null])) }
        if isAmongSeveral, random.oneIn(5) { return .between(keyPath, value, value) }
        let comparisons: [ComparisonOperator] = [.eq, .gt, .gte, .lt, .lte] + (isAmongSeveral ? [] : [.neq])
        let comparison = random.element(comparisons)
        return random.oneIn(4)
            ? .comparison(comparison, .value(value), keyPath) : .comparison(comparison, keyPath, .value(value))
    }
}
