/// The path of the faulty element of a request, `predicate[2][1]`, `include.author` or `records[3].tags.$val[1]`, in
/// `info.path`.
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

    /// The error as one of another element.
    package func replacingPath(with path: String) -> SkyrowError {
        var error = self
        error.info[Self.pathKey] = .string(path)
        return error
    }

    /// The error as one of the record at a place of a request, where its path begins with one of the record's members:
    /// `tags.$val[1]` becomes `records[3].tags.$val[1]`.
    package func inRecord(at index: Int) -> SkyrowError {
        path == nil ? self : at(".").at(index).at("records")
    }

    /// The error as one of an operator on a field; `info.arguments` names the field.
    package func inOperator(on field: String) -> SkyrowError {
        var error = at(field)
        error.info["arguments"] = .list([.string(field)])
        return error
    }
}
