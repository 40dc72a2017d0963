package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `location`: `geography(Point,4326)` of PostGIS, whose extension is created with the first such column (``SchemaChange``).
///
/// Values are sent as EWKB, PostGIS's form of OGC's well-known binary with the SRID: as `bytea` in statements, which PostGIS
/// casts to and from `geography` implicitly.
package struct LocationColumn: ColumnType {
    package var sqlType: SQL { "geography(Point,4326)" }
    package var comment: String { "A point on the Earth: longitude and latitude in degrees of WGS 84." }
    package var kind: RowPlan.Kind { .location }
    package var textCast: TextCast? { .never }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.extensionType == "postgis:geography(Point,4326)" ? .location : nil
    }

    package func value(of value: RecordValue) -> [UInt8]? {
        if case .location(let location) = value { location.ewkb } else { nil }
    }
}

extension RowPlan.Kind {
    /// A value that is not a location, such as `POINT EMPTY` from psql, is shown as a value of an unknown type.
    static func location(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        if let location = Location(ewkb: bytes) { return .location(location) }
        let type: StaticString = "geography"
        return .unknown(UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount))
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
        self.init(
            validLatitude: Double(bitPattern: integer(at: 17)),
            longitude: Double(bitPattern: integer(at: 9))
        )
    }
}
