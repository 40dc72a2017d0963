package import SkyrowQuery

/// EWKB, PostGIS's form of OGC's well-known binary with the number of the reference system, with the least significant byte
/// first.
package struct WellKnownBinary {
    /// The number of WGS 84.
    static let referenceSystem: UInt32 = 4326
    /// Says beside a type that the number of the reference system follows.
    static let hasReferenceSystem: UInt32 = 0x2000_0000

    package private(set) var bytes: [UInt8] = [1]

    /// A polygon of closed rings, the outer one first.
    package init(polygon rings: PlacePolygon.Rings) {
        bytes.reserveCapacity(rings.reduce(13) { $0 + 4 + 16 * $1.count })
        append(3 | Self.hasReferenceSystem)
        append(Self.referenceSystem)
        append(UInt32(rings.count))
        for ring in rings {
            append(UInt32(ring.count))
            for position in ring {
                append(position.x.bitPattern)
                append(position.y.bitPattern)
            }
        }
    }

    private mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.littleEndian) { bytes += $0 }
    }
}
