import SkyrowJSON
package import SkyrowModel

extension QueryRequest {
    /// The members of `record:query` that select from the records of a function.
    static let functionMembers: Set<String> = [
        "database_id", "predicate", "sort", "limit", "offset", "after", "before", "last", "required", "count",
        "include", "include_form", "select", "omit", "desired_keys",
    ]

    /// Reads what a call selects from the records that a function returns: members of `record:query`, all of them optional.
    ///
    /// - Parameters:
    ///   - type: the type of the records.
    ///   - text: an object; nil for none.
    ///
    /// Throws `108 InvalidArgument` for a member that a call cannot have, and what `record:query` throws.
    package init(of type: RecordTypeName, from text: JSONText?, rules: ReadingRules = .rpc) throws(SkyrowError) {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(text?.utf8 ?? Array("{}".utf8))
        } catch {
            throw SkyrowError(unreadable: error)
        }
        self = try document.withRoot { json throws(SkyrowError) in
            guard json.isObject else { throw .invalidArgument("What a call selects is an object.") }
            for (name, _) in json.uniqueMembers where !Self.functionMembers.contains(name) {
                throw .invalidArgument(
                    "A call of a function has no parameter \"\(excerpt(of: name))\".",
                    excerpt(of: name)
                )
            }
            let parameters = Parameters(json)
            return QueryRequest(
                database: try parameters.database(),
                query: try RecordQuery(parameters, type: type, rules: rules)
            )
        }
    }
}
