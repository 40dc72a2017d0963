/// The path of the faulty element of a query, `predicate[2][1]` or `include.author`, in `info.path`.
///
/// Readers and the resolver put it together from the inside out, so that it costs nothing where nothing is wrong.
extension SkyrowError {
    private static let pathKey = "path"

    /// The path as far as it is put together; nil where the error names no element.
    package var path: String? {
        guard case .string(let path) = info[Self.pathKey] else { return nil }
        return path
    }

    /// The error as one of the element at a place of an array.
    package func at(_ index: Int) -> SkyrowError {
        at("[\(index)]")
    }

    /// The error as one of what stands under a name, which is the first part of the path.
    package func at(_ name: String) -> SkyrowError {
        var error = self
        error.info[Self.pathKey] = .string(name + (path ?? ""))
        return error
    }
}
