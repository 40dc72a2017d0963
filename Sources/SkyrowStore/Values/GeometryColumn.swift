package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `geometry`: `geometry(Geometry,4326)` of PostGIS, whose extension is created with the first such column (``SchemaChange``).
///
/// Values are sent as EWKB, as those of ``LocationColumn`` are.
package struct GeometryColumn: ColumnType {
    package var sqlType: SQL { "geometry(Geometry,4326)" }
    package var comment: String { "A geometry of GeoJSON: longitudes and latitudes in degrees of WGS 84." }
    package var indexes: [IndexKind] { [.box] }
    package var kind: RowPlan.Kind { .geometry }
    package var textCast: TextCast? { .never }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.extensionType == "postgis:geometry(Geometry,4326)" ? .geometry : nil
    }

    package func value(of value: RecordValue) -> [UInt8]? {
        if case .geometry(let geometry) = value { geometry.ewkb } else { nil }
    }

    /// A value created in Swift, and not read from JSON, may be an invalid geometry.
    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? {
        if case .geometry(let geometry) = value, let fault = geometry.fault { throw FieldMisfit(fault) }
        return value
    }
}
