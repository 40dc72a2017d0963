package import SkyrowModel

/// Returns a file of this name as the value of a field.
///
/// - Parameter number: distinguishes files of one name.
package func asset(_ filename: String, number: Int = 0) -> Asset {
    let digits = String(number, radix: 16)
    let id = "7b0e2a7c-7135-4912-a6c9-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    return Asset(AssetName(id: id, filename: filename))
}

/// Returns the statement that makes files whose bytes have arrived, for psql with the internal schema on its search path.
package func insertion(of assets: [Asset]) -> String {
    let rows = assets.map {
        "('\($0.name)', '\($0.name.filename)', 'image/png', 1, 'stored', 'local', sha256('a'), now())"
    }
    return """
        INSERT INTO _asset (name, filename, content_type, size, state, storage, sha256, stored_at)
        VALUES \(rows.joined(separator: ", "));
        """
}
