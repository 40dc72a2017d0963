/// The path of the invalid element of a request, `predicate[2][1]`, `include.author` or `records[3].tags.$val[1]`, in
/// `info.path`.
///
/// Readers and the resolver build it from the inside out, so that it costs nothing without an error.
extension SkyrowError {
    private static let pathKey = "path"

    /// The path as far as it is built; nil when the error names no element.
    package var path: String? {
        guard case .string(let path) = info[Self.pathKey] else { return nil }
        return path
    }

    /// Returns the error for the element at an index of an array.
    package func at(_ index: Int) -> SkyrowError {
        at("[\(index)]")
    }

    /// Returns the error for the element under a name, which becomes the first part of the path.
    package func at(_ name: String) -> SkyrowError {
        var error = self
        error.info[Self.pathKey] = .string(name + (path ?? ""))
        return error
    }

    /// Returns the error with another path.
    package func replacingPath(with path: String) -> SkyrowError {
        var error = self
        error.info[Self.pathKey] = .string(path)
        return error
    }

    /// Returns the error for the record at an index of a request, when its path begins with a member of the record:
    /// `tags.$val[1]` becomes `records[3].tags.$val[1]`.
    package func inRecord(at index: Int) -> SkyrowError {
        path == nil ? self : at(".").at(index).at("records")
    }

    /// Returns the error for an operator on a field; `info.arguments` names the field.
    package func inOperator(on field: String) -> SkyrowError {
        var error = at(field)
        error.info["arguments"] = .list([.string(field)])
        return error
    }
}
