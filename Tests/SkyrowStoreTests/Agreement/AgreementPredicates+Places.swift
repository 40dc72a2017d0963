import SkyrowModel
import SkyrowTestSupport

@testable import SkyrowQuery

// What is asked of locations and geometries.

extension AgreementPredicates {
    /// What is asked of a location.
    mutating func place(_ name: Name) -> Predicate {
        let field = path(name.path)
        if nears > 0, random.oneIn(4) {
            nears -= 1
            return near(field)
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            let values = list(4) { .location($0.random.element(AgreementCorpus.spots)) }
            return .comparison(random.element([.in, .nin]), .keyPath(field), .list(values))
        case 1:
            let value: RecordValue = random.oneIn(8) ? .null : .location(random.element(AgreementCorpus.spots))
            return .comparison(random.element([.eq, .neq]), .keyPath(field), .value(value))
        case 2:
            let center = center()
            let bound = Operand.value(.number(radius(around: center)))
            let distance = Operand.function(.distance(center), field)
            let comparison = random.element([ComparisonOperator.lt, .lte, .gt, .gte, .eq, .neq])
            return random.oneIn(3) ? .comparison(comparison, bound, distance) : .comparison(comparison, distance, bound)
        case 3:
            // The numbers decide, so that edges are alike.
            let corners = [
                random.element(AgreementCorpus.spots),
                random.oneIn(2) ? location() : random.element(AgreementCorpus.spots),
            ]
            .sorted { $0.latitude < $1.latitude }
            return .place(field, .inBox(southWest: corners[0], northEast: corners[1]))
        default:
            return .place(field, .inPolygon(polygon()))
        }
    }

    /// What is asked of a geometry, but for what the database alone answers.
    mutating func geometry(_ field: KeyPath) -> Predicate {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let value: RecordValue = random.oneIn(8) ? .null : .geometry(random.element(AgreementCorpus.geometries))
            return .comparison(random.element([.eq, .neq]), .keyPath(field), .value(value))
        case 1:
            let corners = [random.element(AgreementCorpus.spots), location()].sorted { $0.latitude < $1.latitude }
            return .place(field, .inBox(southWest: corners[0], northEast: corners[1]))
        default:
            let value = Operand.value(.location(location()))
            return random.oneIn(3)
                ? .comparison(.in, value, .keyPath(field)) : .comparison(.contains, .keyPath(field), value)
        }
    }

    mutating func near(_ field: KeyPath) -> Predicate {
        let center = center()
        return .place(field, .near(center, radius: random.oneIn(3) ? nil : radius(around: center)))
    }

    /// Anywhere, and not on the edge of anything.
    mutating func location() -> Location {
        let latitude = Double.random(in: -90...90, using: &random)
        let longitude = Double.random(in: -180...180, using: &random)
        return (try? Location(latitude: latitude, longitude: longitude)) ?? AgreementCorpus.locations[0]
    }

    /// Anywhere, or where a location is.
    private mutating func center() -> Location {
        random.oneIn(2) ? random.element(AgreementCorpus.spots) : location()
    }

    /// A number of metres, now and then exactly that of a location, or the next one to it.
    private mutating func radius(around center: Location) -> Double {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return 0
        case 1...4:
            let exact = random.element(AgreementCorpus.spots).distance(to: center)
            return random.element([exact, exact.nextUp, max(0, exact.nextDown)])
        default: return Double.random(in: 0...20_200_000, using: &random)
        }
    }

    /// A polygon, now and then with a hole or across the meridian of 180 degrees.
    mutating func polygon() -> [[Location]] {
        while true {
            let rings = (0..<(random.oneIn(4) ? 2 : 1)).map { _ in
                (0..<Int.random(in: 3...7, using: &random)).map { _ in location() }
            }
            if (try? PlacePolygon(rings, path("at"))) != nil { return rings }
        }
    }
}
