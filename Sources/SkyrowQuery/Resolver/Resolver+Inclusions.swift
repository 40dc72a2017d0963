internal import SkyrowModel

/// A list of records that an inclusion leads through, with the resolver of key paths that start at its records.
package struct InclusionList<Schema: QuerySchema> {
    var column: ResolvedColumn
    var parent: Int?
    /// The options of the inclusion for the list; empty for one on the way to another list.
    var options: Inclusion
    var resolver: Resolver<Schema>
    var sort: [ResolvedSort] = []

    package var type: Schema.RecordType { resolver.root }
    /// The types of the records joined to them.
    package var joinedTypes: [Schema.RecordType] { resolver.joinedTypes }

    var resolved: ResolvedRecordList {
        ResolvedRecordList(
            parent: parent,
            column: column,
            target: type.name,
            idCollation: type.collation(of: .id),
            joins: resolver.joins,
            sort: sort,
            limit: options.limit ?? Inclusion.defaultLimit
        )
    }
}

extension Resolver {
    mutating func inclusions(
        _ inclusions: [Inclusion],
        in form: IncludeForm
    ) throws(SkyrowError) -> [ResolvedInclusion] {
        var result: [ResolvedInclusion] = []
        result.reserveCapacity(inclusions.count)
        for inclusion in expanded(inclusions) {
            do throws(SkyrowError) {
                result.append(try asking(.send) { resolver throws(SkyrowError) in try resolver.resolved(inclusion) })
            } catch {
                throw error.at("include.\(String(inclusion.name.prefix(64)))")
            }
        }
        switch form {
        case .nested: return result
        case .table: return sharingFields(result)
        }
    }

    /// Merges the fields of all inclusions that lead to records of one type, since a record that several lead to is sent once.
    private func sharingFields(_ inclusions: [ResolvedInclusion]) -> [ResolvedInclusion] {
        var fields: [RecordTypeName: [Int]?] = [:]
        for inclusion in inclusions {
            guard let type = includedType(inclusion)?.name else { continue }
            guard let others = fields[type] else {
                fields.updateValue(inclusion.fields, forKey: type)
                continue
            }
            let all = others.flatMap { others in inclusion.fields.map { Set(others).union($0).sorted() } }
            fields.updateValue(all, forKey: type)
        }
        return inclusions.map { inclusion in
            var inclusion = inclusion
            if let type = includedType(inclusion)?.name, let shared = fields[type] { inclusion.fields = shared }
            return inclusion
        }
    }

    /// Replaces `*` with each reference of the type, except those under names that are already used.
    private func expanded(_ inclusions: [Inclusion]) -> [Inclusion] {
        guard let place = inclusions.firstIndex(where: \.isOfEveryReference) else { return inclusions }
        var result = inclusions
        result.remove(at: place)
        let names = Set(result.map(\.name))
        for field in root.referenceFields
        where !names.contains(field.rawValue) && !root.standing(.send, of: field, for: access.fields).isNever {
            // There is nothing to include of a missing type.
            guard let target = root.queryField(field).flatMap({ ValueKind($0.type).target }), schema[target] != nil
            else {
                continue
            }
            result.append(Inclusion(name: field.rawValue, keyPath: KeyPath(field)))
        }
        return result
    }

    private mutating func resolved(_ inclusion: Inclusion) throws(SkyrowError) -> ResolvedInclusion {
        guard inclusion.function == nil else {
            return ResolvedInclusion(name: inclusion.name, number: try includedNumber(inclusion))
        }
        var result = ResolvedInclusion(name: inclusion.name, countsRecords: inclusion.countsRecords)
        var rest = inclusion.keyPath
        do throws(SkyrowError) {
            while !rest.components.isEmpty, let hop = try hop(on: rest, in: result.list, of: inclusion) {
                rest = hop.rest
                result.list = try list(of: hop.column, in: result.list, of: inclusion, before: rest)
            }
            if !rest.components.isEmpty {
                if result.list == nil, inclusion.isNullWithoutReference, try !isReference(rest) { return result }
                result.join = try inList(result.list) { resolver throws(SkyrowError) in try resolver.join(rest) }
            }
        } catch {
            throw error.naming(inclusion.keyPath, insteadOf: rest)
        }
        if result.list == nil, let parameter = inclusion.listParameter {
            throw SkyrowError.invalidArgument(
                "\"\(parameter)\" is only for inclusions that lead to several records.",
                "include"
            )
            .at(".\(parameter)")
        }
        if inclusion.countsRecords, let list = result.list, lists[list].parent != nil || result.join != nil {
            throw SkyrowError.invalidArgument("Only the records of a single array can be counted.", "include").at(
                ".count"
            )
        }
        if let type = includedType(result) {
            do throws(SkyrowError) {
                result.fields =
                    inclusion.desiredFields == nil
                    ? try fields(of: type, without: inclusion.omittedFields)
                    : try fields(of: type, inclusion.desiredFields, "select")
            } catch {
                throw error.at(".")
            }
        }
        return result
    }

    /// Returns the next array of references on a path; nil if the path has no further one.
    private mutating func hop(
        on path: KeyPath,
        in list: Int?,
        of inclusion: Inclusion
    ) throws(SkyrowError) -> (column: ResolvedColumn, rest: KeyPath)? {
        do throws(SkyrowError) {
            return try inList(list) { resolver throws(SkyrowError) in try resolver.hop(on: path) }
        } catch {
            // There is nothing to include of a field that is not a reference.
            guard inclusion.isNullWithoutReference, list == nil, error.code == .recordQueryInvalid else { throw error }
            return nil
        }
    }

    private func includedType(_ inclusion: ResolvedInclusion) -> Schema.RecordType? {
        guard let list = inclusion.list else { return inclusion.join.map { joinedTypes[$0] } }
        return inclusion.join.map { lists[list].joinedTypes[$0] } ?? lists[list].type
    }

    /// Resolves with key paths that start at the records of a list, or at the queried ones.
    private mutating func inList<Result>(
        _ list: Int?,
        _ body: (inout Resolver) throws(SkyrowError) -> Result
    ) throws(SkyrowError) -> Result {
        guard let list else { return try body(&self) }
        return try body(&lists[list].resolver)
    }

    /// Returns the index of the list of an array of references; inclusions with the same options share it.
    private mutating func list(
        of column: ResolvedColumn,
        in parent: Int?,
        of inclusion: Inclusion,
        before rest: KeyPath
    ) throws(SkyrowError) -> Int {
        guard let target = column.kind.listTarget, let type = try type(target) else {
            throw .recordQueryInvalid("The type of the references does not exist.", inclusion.keyPath)
        }
        var options = Inclusion(name: "", keyPath: KeyPath.none)
        if !leadsToSeveral(rest.components[...], from: type) {
            options.limit = inclusion.limit
            options.sort = inclusion.sort
        }
        let known = lists.firstIndex { $0.parent == parent && $0.column == column && $0.options == options }
        if let known { return known }
        guard lists.count < Inclusion.maximumLists else {
            throw .recordQueryInvalid(
                "The inclusions of a query can lead through at most \(Inclusion.maximumLists) arrays of references.",
                inclusion.keyPath
            )
        }
        var resolver = Resolver(schema: schema, root: type, access: access)
        resolver.start = .listedRecord
        resolver.takesLanguages = true
        resolver.asking = .send
        var list = InclusionList(column: column, parent: parent, options: options, resolver: resolver)
        if !options.sort.isEmpty {
            do throws(SkyrowError) { list.sort = try list.resolver.sort(options.sort) } catch { throw error.at(".") }
        }
        lists.append(list)
        return lists.count - 1
    }

    /// Whether a path leads through an array of references; false for an invalid path, which is reported elsewhere.
    private func leadsToSeveral(_ names: ArraySlice<String>, from type: Schema.RecordType) -> Bool {
        guard let name = names.first else { return false }
        var target: RecordTypeName?
        if type.hasMetadata, let metadata = ReservedColumn(keyPath: name) {
            target = metadata.kind(in: type.name).target
        } else if let field = try? FieldName(name), let found = type.queryField(field) {
            let kind = ValueKind(found.type)
            if kind.listTarget != nil { return true }
            target = kind.target
        }
        guard let next = target.flatMap({ schema[$0] }) else { return false }
        return leadsToSeveral(names.dropFirst(), from: next)
    }
}
