package import SkyrowJSON
package import SkyrowModel

extension RecordQuery {
    /// Reads the members of `record:query` but for the database (skygear.md 6.5).
    ///
    /// - Parameter type: the type that `record_type` names, where it may be another than that of records which are saved.
    init(_ parameters: Parameters, type: RecordTypeName? = nil, rules: ReadingRules) throws(SkyrowError) {
        let page = try Page(parameters, rules: rules)
        let type: RecordTypeName = if let type { type } else { try parameters.recordType() }
        self.init(
            type: type,
            predicate: try condition(parameters, rules),
            sort: try sortKeys(parameters),
            include: try inclusions(parameters, rules),
            desiredFields: try selectedFields(parameters),
            limit: page.limit,
            offset: try parameters.integer("offset", in: 0...Int.max) ?? 0
        )
        includeForm = try IncludeForm(parameters, rules)
        overflow = page.overflow
        position = try Position(parameters)
        isRequired = try parameters.boolean("required") ?? false
        counting = try Counting(parameters)
        if parameters["select"] != nil { selectionParameter = "select" }
        omittedFields = try SkyrowProtocol.omittedFields(parameters, of: self)
        isDescribed = !rules.describesPagesOnRequest || asksAboutThePage
    }
}

/// How many records a query returns, and what becomes of more.
private struct Page {
    var limit: Int
    var overflow = RecordQuery.Overflow.cut

    init(_ parameters: Parameters, rules: ReadingRules) throws(SkyrowError) {
        guard rules.unlimitedQueries else {
            limit = try parameters.integer("limit", in: 0...RecordQuery.maximumLimit) ?? RecordQuery.defaultLimit
            return
        }
        let asked = try parameters.integer("limit", in: 0...Int.max)
        if let asked, asked <= RecordQuery.maximumUnlimited {
            limit = asked
        } else {
            limit = RecordQuery.maximumUnlimited
            overflow = .refuse
        }
    }
}

/// `select`, or `desired_keys`, as v1 calls it.
private func selectedFields(_ parameters: Parameters) throws(SkyrowError) -> [String]? {
    let desired = try parameters.names("desired_keys")
    guard let selected = try parameters.names("select") else { return desired }
    guard desired == nil else {
        throw .invalidArgument("\"select\" and \"desired_keys\" are the same; send only one of them.", "select")
            .at("select")
    }
    return selected
}

private func omittedFields(_ parameters: Parameters, of query: RecordQuery) throws(SkyrowError) -> [String] {
    guard let omitted = try parameters.names("omit") else { return [] }
    guard query.desiredFields == nil else {
        throw .invalidArgument("\"omit\" cannot be combined with \"select\" or \"desired_keys\".", "omit").at("omit")
    }
    return omitted
}

func condition(_ parameters: Parameters, _ rules: ReadingRules) throws(SkyrowError) -> RecordPredicate? {
    guard let json = parameters["predicate"] else { return nil }
    if rules.emptyPredicateIsNone, json.isArray, json.count == 0 { return nil }
    return try RecordPredicate(json)
}

func sortKeys(_ parameters: Parameters) throws(SkyrowError) -> [SortKey] {
    guard let array = try parameters.array("sort") else { return [] }
    guard array.count <= WireLimits.sortCount else { throw parameters.tooMany("sort", WireLimits.sortCount) }
    var keys: [SortKey] = []
    for element in array.elements {
        do throws(SkyrowError) { keys.append(try SortKey(element)) } catch { throw error.at(keys.count).at("sort") }
    }
    return keys
}

private func inclusions(_ parameters: Parameters, _ rules: ReadingRules) throws(SkyrowError) -> [Inclusion] {
    guard let object = try parameters.object("include") else { return [] }
    guard object.count <= WireLimits.includeCount else {
        throw parameters.tooMany("include", WireLimits.includeCount)
    }
    var inclusions: [Inclusion] = []
    for (name, expression) in object.uniqueMembers {
        var inclusion: Inclusion
        do throws(SkyrowError) { inclusion = try Inclusion(name, expression) } catch {
            throw error.at("include.\(excerpt(of: name))")
        }
        inclusion.isNullWithoutReference = rules.includeWithoutReferenceIsNull
        inclusions.append(inclusion)
    }
    return inclusions
}

extension IncludeForm {
    /// Reads `include_form`.
    fileprivate init(_ parameters: Parameters, _ rules: ReadingRules) throws(SkyrowError) {
        self = .nested
        guard let text = try parameters.string("include_form") else { return }
        guard let form = IncludeForm(rawValue: text) else {
            throw .invalidArgument("\"include_form\" must be \"nested\" or \"table\".", "include_form").at(
                "include_form"
            )
        }
        guard form == .nested || rules.takesIncludeTable else {
            throw .invalidArgument("The include form \"table\" is only available in JSON-RPC.", "include_form").at(
                "include_form"
            )
        }
        self = form
    }
}

extension Inclusion {
    private static let members = ["path", "select", "omit", "sort", "limit", "count"]

    /// Reads a key path, `true` for the one that is spelled as the name, or `{"path": key path, "limit": 20, …}`.
    fileprivate init(_ name: String, _ json: JSONView) throws(SkyrowError) {
        if json.boolean == true {
            self.init(name: name, keyPath: try FieldPath(name))
            return
        }
        if json.firstElement?.equals("func") ?? false {
            let named = try FunctionOfPath(json)
            self.init(name: name, keyPath: named.path, function: named.function)
            return
        }
        guard json.isObject, json["$val"] == nil, let path = json["path"] else {
            self.init(name: name, keyPath: try SkyrowProtocol.keyPath(json, "include"))
            return
        }
        for (member, _) in json.members where !Self.members.contains(member.string ?? "") {
            throw SkyrowError.invalidArgument(
                "An inclusion can only have the members path, select, omit, sort, limit and count.",
                "include"
            ).at(".\(excerpt(of: member.string ?? ""))")
        }
        do throws(SkyrowError) { self.init(name: name, keyPath: try SkyrowProtocol.keyPath(path, "include")) } catch {
            throw error.at(".path")
        }
        try readOptions(Parameters(json))
    }

    private mutating func readOptions(_ parameters: Parameters) throws(SkyrowError) {
        func read<Value>(_ name: String, _ body: () throws(SkyrowError) -> Value) throws(SkyrowError) -> Value {
            do throws(SkyrowError) { return try body() } catch {
                throw error.path == nil ? error.at(".\(name)") : error.at(".")
            }
        }
        desiredFields = try read("select") { () throws(SkyrowError) in try parameters.names("select") }
        omittedFields = try read("omit") { () throws(SkyrowError) in try parameters.names("omit") ?? [] }
        guard desiredFields == nil || parameters["omit"] == nil else {
            throw SkyrowError.invalidArgument("\"omit\" cannot be combined with \"select\".", "include").at(".omit")
        }
        sort = try read("sort") { () throws(SkyrowError) in try sortKeys(parameters) }
        limit = try read("limit") { () throws(SkyrowError) in
            try parameters.integer("limit", in: 1...Inclusion.maximumLimit)
        }
        countsRecords = try read("count") { () throws(SkyrowError) in try parameters.boolean("count") ?? false }
    }
}

func keyPath(_ json: JSONView, _ argument: String) throws(SkyrowError) -> FieldPath {
    if json.firstElement?.equals("func") ?? false {
        throw SkyrowError(
            .notSupported,
            "Functions are not supported in \"\(argument)\".",
            info: ["arguments": .list([.string(argument)])]
        )
    }
    guard json.isObject, let path = try FieldPath(json: json) else {
        throw .invalidArgument("\"\(argument)\" takes key paths, {\"$type\":\"keypath\",\"$val\":\"field\"}.", argument)
    }
    return path
}

extension JSONWriter {
    fileprivate func inclusion(_ inclusion: Inclusion) {
        guard !inclusion.isPlain else { return keyPath(inclusion.keyPath, inclusion.function) }
        beginObject()
        key("path")
        keyPath(inclusion.keyPath)
        if let fields = inclusion.desiredFields { member("select", fields) }
        if !inclusion.omittedFields.isEmpty { member("omit", inclusion.omittedFields) }
        sort(inclusion.sort)
        if let limit = inclusion.limit { member("limit", limit) }
        if inclusion.countsRecords { member("count", true) }
        endObject()
    }
}

extension JSONWriter {
    /// The members of `record:query` but for the database, inside an object that is already open.
    package func queryMembers(_ query: RecordQuery) {
        recordType(query.type, matching: query.predicate)
        sort(query.sort)
        if !query.include.isEmpty {
            beginObject("include")
            for inclusion in query.include {
                key(inclusion.name)
                self.inclusion(inclusion)
            }
            endObject()
        }
        if query.includeForm != .nested { member("include_form", query.includeForm.rawValue) }
        desiredKeys(query.desiredFields)
        if !query.omittedFields.isEmpty { member("omit", query.omittedFields) }
        member("limit", query.limit)
        if query.offset > 0 { member("offset", query.offset) }
        pagingMembers(query)
    }
}
