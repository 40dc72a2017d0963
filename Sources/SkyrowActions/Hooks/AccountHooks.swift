import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// The caller of hooks about a user, as a request that is not an action's call knows it.
    func hookCaller(of user: UserID?, from origin: RequestOrigin) -> HookCaller {
        let context = FunctionContext(userID: user, requestID: origin.requestID, clientAddress: origin.address)
        return HookCaller(context: context, deadline: nil)
    }

    // MARK: Sign-up

    /// Runs the hooks before the save of a profile that a sign-up writes. They never get the password, and a list that they set
    /// is ignored, since a sign-up writes none.
    ///
    /// Returns the fields with what hooks have set, and the names of these. Throws the error of a hook, and `108 InvalidArgument`
    /// for a login key that no account may have.
    ///
    /// - Parameter hasLoginKeys: Whether the account may have login keys, which an anonymous one may not.
    func hookedProfile(
        _ fields: [(name: FieldName, value: RecordValue)],
        of user: UserID,
        replacing original: Record? = nil,
        hasLoginKeys: Bool,
        for caller: HookCaller
    ) async throws(SkyrowError) -> (fields: [(name: FieldName, value: RecordValue)], trusted: Set<FieldName>) {
        guard functions.hasHooks(.beforeSave) else { return (fields, []) }
        let plan = HookPlan(.beforeSave, on: [.user], in: functions.registry)
        guard !plan.isEmpty else { return (fields, []) }
        let id = try RecordID(type: .user, id: user.rawValue)
        var record = original ?? Record(id: id)
        var changed: [FieldName] = []
        for (name, value) in fields where !value.isSameStored(as: record.fields[name] ?? .null) {
            record.fields[name] = value == .null ? nil : value
            changed.append(name)
        }
        if original == nil {
            record.owner = user
            record.createdAt = clock.now()
            record.createdBy = user
        }
        record.updatedAt = clock.now()
        record.updatedBy = user
        var changes = [0: HookedChange(HookedRecord(record, original: original, changed: changed.sorted()))]
        await run(plan, on: &changes, for: caller)
        guard let change = changes[0] else { return (fields, []) }
        if let refusal = change.refusal { throw refusal }
        var hooked = fields
        for (name, value) in change.fields.sorted(by: { $0.key < $1.key }) {
            if store.loginKeys.contains(name) {
                guard hasLoginKeys || value == .null else {
                    throw .invalidArgument("An anonymous account cannot have a login key.", name.rawValue)
                }
                try LoginData.check(value, argument: name.rawValue)
                try configuration.accounts.check(value, of: name)
            }
            hooked.removeAll { $0.name == name }
            hooked.append((name, value))
        }
        return (hooked, Set(change.fields.keys))
    }

    /// Runs the hooks after the save of a profile that a sign-up has written.
    func runHooks(afterSignUpOf user: UserID, replacing original: Record? = nil, for caller: HookCaller) async {
        guard functions.hasHooks(.afterSave) else { return }
        let plan = HookPlan(.afterSave, on: [.user], in: functions.registry)
        guard !plan.isEmpty, let record = try? await profile(of: user) else { return }
        let names = Set(record.fields.keys).union((original?.fields ?? [:]).keys)
        let changed = names.filter {
            !(record.fields[$0] ?? .null).isSameStored(as: original?.fields[$0] ?? .null)
        }
        await run(plan, after: [HookedRecord(record, original: original, changed: changed.sorted())], for: caller)
    }

    /// Returns the profile of a user with every field, if hooks before or after its save need it; nil otherwise.
    func profileForHooks(of user: UserID) async throws(SkyrowError) -> Record? {
        guard functions.hasHooks(.beforeSave) || functions.hasHooks(.afterSave) else { return nil }
        let registry = functions.registry
        guard registry.hasHooks(.beforeSave, on: .user) || registry.hasHooks(.afterSave, on: .user) else { return nil }
        return try await profile(of: user)
    }

    private func profile(of user: UserID) async throws(SkyrowError) -> Record? {
        let access = RecordAccess(in: .everyone, for: .reading, by: Caller(kind: .master(actingAs: nil)))
        let id = try RecordID(type: .user, id: user.rawValue)
        return try await store.fetch([id], with: access).first?.wholeRecord
    }

    // MARK: Sessions

    /// Runs the hooks before a login, after everything else has accepted it; returns the profile for those after it.
    ///
    /// Throws the error of a hook.
    func runHooks(beforeLogInOf user: UserID, from origin: RequestOrigin) async throws(SkyrowError) -> Record? {
        guard functions.hasHooks(.beforeLogin) || functions.hasHooks(.afterLogin) else { return nil }
        // The first login of an identity makes its account, which has hooks of its sign-up.
        guard let profile = try await profile(of: user) else { return nil }
        let caller = hookCaller(of: user, from: origin)
        for hook in functions.registry.hooks(.beforeLogin, on: .user) {
            do throws(SkyrowError) {
                _ = try await answer(of: hook, to: .account(profile), for: caller)
            } catch {
                guard !hook.description.isRequired, error.isServerAway else { throw error }
                observe(.hooksSkipped(1))
            }
        }
        return profile
    }

    /// Runs the hooks after a login or a logout.
    func runHooks(_ trigger: HookTrigger, of profile: Record, for caller: HookCaller) async {
        guard functions.hasHooks(trigger) else { return }
        for hook in functions.registry.hooks(trigger, on: .user) {
            await run(hook, after: profile, for: caller)
        }
    }

    func runHooks(afterLogOutOf user: UserID?, for caller: @autoclosure () -> HookCaller) async {
        guard functions.hasHooks(.afterLogout), let user, let profile = try? await profile(of: user) else { return }
        await runHooks(.afterLogout, of: profile, for: caller())
    }
}

extension SessionOpening {
    /// Whether it is a login, rather than the continuation of one.
    var isLogIn: Bool {
        switch self {
        case .logIn, .reset, .link, .provider, .customToken: true
        case .signUp, .register, .password, .master: false
        }
    }
}
