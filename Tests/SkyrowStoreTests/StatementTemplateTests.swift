import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A statement's text, its values and the key that its text is kept by come from one walk and agree.
@Suite struct StatementTemplateTests {
    static let access: [StatementParameter.Access] = [.database, .user, .audience]
    static let parameters: [StatementParameter] =
        [
            .ids, .wireIDs, .newOwner, .actor, .database, .prefix, .instant, .accessLists, .revisions, .column(0),
            .column(1599), .defaultAccess,
        ] + access.map { .access($0) }

    @Test func aTextHasItsParametersInTheOrderOfItsPlaceholders() {
        let order = Self.parameters + Self.parameters.reversed()
        let template = order.map { "\(parameter: $0)" as StatementTemplate }.joined(separator: ", ")
        #expect(template.parameters == order)
        #expect(template.text == (1...order.count).map { "$\($0)" }.joined(separator: ", "))
        var asked: [StatementParameter] = []
        let statement = template.binding { parameter, values in
            asked.append(parameter)
            values.append("\(asked.count)")
        }
        #expect(asked == order && statement.bindings.failure == nil && statement.text == template.text)
    }

    @Test func templatesTakeEachOtherAndTextWithoutValues() {
        let name: SQLIdentifier = "na\"me"
        let text: SQL = "now()"
        let inner: StatementTemplate = "\(name) = \(parameter: .actor)"
        var template: StatementTemplate = "\(parameter: .ids), \(inner), \(text)"
        template += ", \(parameter: .prefix)"
        #expect(template.text == #"$1, "na""me" = $2, now(), $3"#)
        #expect(template.parameters == [.ids, .actor, .prefix])
        #expect(template.replacingParameters { "p\(SQLIdentifier(valueAt: $0))" }.text.hasSuffix(#"now(), p"v3""#))
    }

    @Test(arguments: [0, 2])
    func aParameterWithoutExactlyOneValueIsNotSent(_ count: Int) {
        let template: StatementTemplate = "SELECT \(parameter: .ids), \(parameter: .actor), \(parameter: .prefix)"
        for odd in template.parameters {
            let statement = template.binding { parameter, values in
                for _ in 0..<(parameter == odd ? count : 1) { values.append("1") }
            }
            #expect(statement.bindings.failure?.code == .misuse)
        }
        // The values stay as many as the placeholders.
        let shifted = template.binding { parameter, values in
            if parameter == .ids { values.append("1") }
            if parameter != .prefix { values.append("2") }
        }
        #expect(shifted.bindings.failure?.code == .misuse)
    }

    @Test func aTextWithValuesMakesNoTemplate() {
        let value: SQL = "\("x")"
        let template: StatementTemplate = "SELECT \(value), \(parameter: .ids)"
        #expect(template.binding { $1.append("1") }.bindings.failure?.code == .misuse)
    }

    // MARK: Agreement

    /// What a caller with any roles may do in any database.
    private func randomAccess(_ random: inout SeededGenerator) -> (access: RecordAccess, roles: [RoleName]) {
        let users: [UserID] = ["ann", "bob", "cafe\u{301}", "caf\u{E9}", "o'brien"]
        let user = users.randomElement(using: &random)!
        let roles = (0..<[0, 1, 4, 5, 50].randomElement(using: &random)!).map { RoleName("role\($0)") }
        let kinds: [Caller.Kind] = [.anonymous, .user(user), .user(user), .user(user), .master(actingAs: user)]
        let kind = kinds.randomElement(using: &random)!
        let scopes: [DatabaseScope] = [.everyone, .everyone, .user(user), .user("ann"), .union]
        let access = RecordAccess(
            Caller(kind: kind, roles: kind == .anonymous ? [] : roles),
            in: scopes.randomElement(using: &random)!,
            for: Bool.random(using: &random) ? .reading : .writing
        )
        return (access, roles)
    }

    private func randomSave(_ access: RecordAccess, _ random: inout SeededGenerator) -> SaveText {
        func chance() -> Bool { Bool.random(using: &random) }
        let table = SchemaCatalog.notes.note
        let kinds: [SaveShape.Kind] = [.upsert, .insert, .update, .updateOfRevision]
        let columns = table.columns.indices.filter { _ in chance() }
        let open = randomAccess(access, &random)
        let targets = columns.compactMap { place -> SaveText.Target?? in
            guard case .reference = table.columns[place].type else { return nil }
            return .some(
                chance() ? SaveText.Target(table: "category", shared: randomAccess(access, &random).shared.shape) : nil
            )
        }
        var isPrivate = false
        if case .user = access.database { isPrivate = true }
        let kind = kinds.randomElement(using: &random)!
        return SaveText(
            shape: SaveShape(kind: kind, columns: columns, setsAccess: chance()),
            rows: kind == .update
                ? [.one, .several, .alike].randomElement(using: &random)! : chance() ? .one : .several,
            hasInstant: chance(),
            isPrivate: isPrivate,
            update: open.update.shape,
            references: targets.isEmpty || chance()
                ? nil
                : SaveText.References(own: isPrivate ? open.read.shape : nil, targets: targets, hasPending: chance()),
            guardedColumns: columns.filter { _ in chance() }.map {
                SaveText.GuardedColumn(
                    place: $0,
                    update: chance() ? .owned : .never,
                    read: [AccessCondition.never, .owned, .always].randomElement(using: &random)!
                )
            },
            guardedAccess: !access.passesEveryRule && chance()
                ? SaveText.GuardedAccess(
                    update: [AccessCondition.never, .owned, AccessCondition(any: [.owner, .listed(.update)])]
                        .randomElement(using: &random)!,
                    read: [AccessCondition.never, .owned, AccessCondition(any: [.owner, .listed(.update)]), .always]
                        .randomElement(using: &random)!
                ) : nil,
            hasOwner: chance(),
            defaultAccess: DefaultAccess(ofType: chance(), ofUser: chance())
        )
    }

    /// What is open of a type without rules, or of one with any.
    private func randomAccess(_ access: RecordAccess, _ random: inout SeededGenerator) -> TypeAccess {
        Bool.random(using: &random) ? access.standard : access.of(ClassRules.random(&random))
    }

    private func randomText(_ whole: RecordAccess, _ random: inout SeededGenerator) -> StatementText {
        let access = randomAccess(whole, &random)
        return switch Int.random(in: 0..<8, using: &random) {
        case 0: .fetchMany(access.read.shape)
        case 1: .fetchUnion(access.read.shape)
        case 2: .readCondition(access.read.shape, on: ["r", "j1", "j16"].randomElement(using: &random)!)
        case 3: .delete(access.delete.shape)
        case 4: .judge(read: access.read.shape, access.update.shape)
        case 5: .judge(read: access.read.shape, access.delete.shape)
        case 6: .lookUp(shared: access.shared.shape, own: Bool.random(using: &random) ? access.read.shape : nil)
        default: .save(randomSave(whole, &random))
        }
    }

    /// What a parameter is for a caller, found without the scope's clauses.
    private func expected(_ parameter: StatementParameter, of access: RecordAccess, _ roles: [RoleName]) -> String?? {
        var database: String?
        if case .user(let user) = access.database { database = user.rawValue }
        switch parameter {
        case .newOwner: return .some((database.map { UserID($0) } ?? access.actor)?.rawValue)
        case .actor, .access(.user): return .some(access.actor?.rawValue)
        case .database, .access(.database): return database
        case .prefix: return StoredID.prefix(of: access.database)
        case .access(.audience): return .some(Audience(user: access.actor, roles: roles).text)
        case .ids, .wireIDs, .instant, .accessLists, .defaultAccess, .revisions, .column, .operand, .elementValue,
            .condition:
            return nil
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func textValuesAndKeyAgree(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let table = SchemaCatalog.notes.note
        var templates: [StatementText: (text: String, parameters: [StatementParameter])] = [:]
        for _ in 0..<500 {
            let (access, roles) = randomAccess(&random)
            let key = randomText(access, &random)
            let template = key.template(on: table)
            let kept = table.shapes.template(key, on: table)
            #expect(kept.text == template.text && kept.parameters == template.parameters)
            if let (text, parameters) = templates.updateValue((template.text, template.parameters), forKey: key) {
                #expect(template.text == text && template.parameters == parameters)
            }
            let statement = kept.binding { parameter, values in
                let count = values.count
                access.append(parameter, to: &values)
                if values.count == count, expected(parameter, of: access, roles) == nil {
                    values.append("of the records")
                }
            }
            #expect(statement.bindings.failure == nil, "\(key)")
            for (parameter, value) in zip(kept.parameters, statement.bindings.values) {
                guard let expected = expected(parameter, of: access, roles) else { continue }
                let bytes = statement.bindings.encoder.bytes[value.offset...].prefix(max(value.length, 0))
                #expect(expected.map { Array($0.utf8) } == (value.length < 0 ? nil : Array(bytes)), "\(parameter)")
            }
        }
    }

    @Test func bothFormsOfACoalescedFetchHaveTheSameParameters() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let shape = randomAccess(randomAccess(&random).access, &random).read.shape
            let table = SchemaCatalog.notes.note
            let one = FetchStatement.one(shape, on: table)
            #expect(FetchStatement.coalesced(shape, on: table).parameters == one.parameters)
            #expect(one.parameters.first == .ids)
        }
    }
}
