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
    package var indexes: [IndexKind] { [.near, .box] }
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
