/// EWKB, PostGIS's form of OGC's well-known binary with a spatial reference identifier (SRID; PostGIS's manual, 4.1.2), least
/// significant byte first.
package struct WellKnownBinary {
    /// The SRID of WGS 84.
    fileprivate static let referenceSystem: UInt32 = 4326
    /// The flag of a type that is followed by an SRID.
    fileprivate static let hasReferenceSystem: UInt32 = 0x2000_0000

    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Begins a geometry; a nested one has no SRID.
    package mutating func begin(_ shape: GeometryShape, isInside: Bool = false) {
        bytes.append(1)
        append(isInside ? shape.rawValue : shape.rawValue | Self.hasReferenceSystem)
        if !isInside { append(Self.referenceSystem) }
    }

    package mutating func count(_ count: Int) {
        append(UInt32(count))
    }

    package mutating func position(x: Double, y: Double) {
        append(x.bitPattern)
        append(y.bitPattern)
    }

    private mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.littleEndian) { bytes += $0 }
    }
}

/// The numbers of the shapes in well-known binary.
package enum GeometryShape: UInt32 {
    case point = 1
    case lineString, polygon, multiPoint, multiLineString, multiPolygon, collection
}

extension Geometry {
    package var ewkb: [UInt8] {
        var binary = WellKnownBinary()
        append(to: &binary, isInside: false)
        return binary.bytes
    }

    private func append(to binary: inout WellKnownBinary, isInside: Bool) {
        func positions(_ positions: [Location]) {
            binary.count(positions.count)
            for position in positions { binary.position(x: position.longitude, y: position.latitude) }
        }
        func parts(_ parts: [Geometry]) {
            binary.count(parts.count)
            for part in parts { part.append(to: &binary, isInside: true) }
        }
        switch self {
        case .point(let point):
            binary.begin(.point, isInside: isInside)
            binary.position(x: point.longitude, y: point.latitude)
        case .lineString(let line):
            binary.begin(.lineString, isInside: isInside)
            positions(line)
        case .polygon(let rings):
            binary.begin(.polygon, isInside: isInside)
            binary.count(rings.count)
            for ring in rings { positions(ring) }
        case .multiPoint:
            binary.begin(.multiPoint, isInside: isInside)
            parts(self.parts)
        case .multiLineString:
            binary.begin(.multiLineString, isInside: isInside)
            parts(self.parts)
        case .multiPolygon:
            binary.begin(.multiPolygon, isInside: isInside)
            parts(self.parts)
        case .collection(let geometries):
            binary.begin(.collection, isInside: isInside)
            parts(geometries)
        }
    }

    /// Parses a geometry in either byte order; nil for shapes that GeoJSON lacks, such as arcs, for empty shapes, for more than
    /// two dimensions, and for degrees out of range.
    package init?(ewkb bytes: UnsafeRawBufferPointer) {
        var reader = WellKnownBinaryReader(bytes: bytes)
        guard let geometry = reader.geometry(isInside: false, depth: 1), reader.isAtEnd else { return nil }
        self = geometry
    }
}

private struct WellKnownBinaryReader {
    let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var isBigEndian = false

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func geometry(isInside: Bool, depth: Int) -> Geometry? {
        guard depth <= Geometry.maximumDepth + 1, offset < bytes.count, bytes[offset] <= 1 else { return nil }
        isBigEndian = bytes[offset] == 0
        offset += 1
        guard let type: UInt32 = integer() else { return nil }
        if type & WellKnownBinary.hasReferenceSystem != 0 {
            guard let system: UInt32 = integer(), system == WellKnownBinary.referenceSystem else { return nil }
        } else if !isInside {
            return nil
        }
        switch GeometryShape(rawValue: type & ~WellKnownBinary.hasReferenceSystem) {
        case .point: return position().map { .point($0) }
        case .lineString: return positions().map { .lineString($0) }
        case .polygon: return list { $0.positions() }.map { .polygon($0) }
        case .multiPoint:
            return list {
                if case .point(let part)? = $0.geometry(isInside: true, depth: depth + 1) { part } else { nil }
            }
            .map { .multiPoint($0) }
        case .multiLineString:
            return list {
                if case .lineString(let part)? = $0.geometry(isInside: true, depth: depth + 1) { part } else { nil }
            }.map { .multiLineString($0) }
        case .multiPolygon:
            return list {
                if case .polygon(let part)? = $0.geometry(isInside: true, depth: depth + 1) { part } else { nil }
            }
            .map { .multiPolygon($0) }
        case .collection: return list { $0.geometry(isInside: true, depth: depth + 1) }.map { .collection($0) }
        case nil: return nil
        }
    }

    /// Reads a list of at least one part.
    private mutating func list<Part>(_ part: (inout Self) -> Part?) -> [Part]? {
        // Each part takes at least one byte, so a count cannot request more memory than there are bytes.
        guard let count: UInt32 = integer(), count > 0, Int(count) <= bytes.count - offset else { return nil }
        var parts: [Part] = []
        for _ in 0..<count {
            guard let part = part(&self) else { return nil }
            parts.append(part)
        }
        return parts
    }

    private mutating func positions() -> [Location]? {
        list { $0.position() }
    }

    private mutating func position() -> Location? {
        guard let x: UInt64 = integer(), let y: UInt64 = integer() else { return nil }
        return Location(validLatitude: Double(bitPattern: y), longitude: Double(bitPattern: x))
    }

    private mutating func integer<Integer: FixedWidthInteger>() -> Integer? {
        let size = MemoryLayout<Integer>.size
        guard bytes.count - offset >= size else { return nil }
        defer { offset += size }
        let stored = bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self)
        return isBigEndian ? Integer(bigEndian: stored) : Integer(littleEndian: stored)
    }
}

extension Location {
    /// 0x20000000 means that the SRID follows, 1 is a point (PostGIS's manual, 4.1.2, "WKB and WKT").
    private static let type: UInt32 = 0x2000_0001
    private static let referenceSystem: UInt32 = 4326
    private static let ewkbLength = 25

    /// A byte for the byte order, here little-endian; then type, SRID, x and y.
    package var ewkb: [UInt8] {
        var bytes: [UInt8] = [1]
        bytes.reserveCapacity(Self.ewkbLength)
        withUnsafeBytes(of: Self.type.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: Self.referenceSystem.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: longitude.bitPattern.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: latitude.bitPattern.littleEndian) { bytes += $0 }
        return bytes
    }

    /// Reads a point in either byte order; nil for other values, and for degrees out of range.
    package init?(ewkb bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.ewkbLength, let order = bytes.first, order <= 1 else { return nil }
        func integer<Integer: FixedWidthInteger>(at offset: Int) -> Integer {
            let stored = bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self)
            return order == 1 ? Integer(littleEndian: stored) : Integer(bigEndian: stored)
        }
        guard integer(at: 1) == Self.type, integer(at: 5) == Self.referenceSystem else { return nil }
        self.init(validLatitude: Double(bitPattern: integer(at: 17)), longitude: Double(bitPattern: integer(at: 9)))
    }
}
