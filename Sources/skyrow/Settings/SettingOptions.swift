import ArgumentParser
import SkyrowServer
import Synchronization

/// The flags of all settings of a command, generated from the settings table.
///
/// ArgumentParser finds a type's options with its mirror and passes their values by coding keys. Other types leave both
/// to the compiler; here ``SettingRow``s define them.
struct SettingOptions<Scope: SettingScope>: ParsableArguments, CustomReflectable {
    /// The given texts by setting name.
    private(set) var flags: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SettingKey.self)
        for group in Scope.groups {
            flags.merge(try SettingOptions.flags(of: group, in: container)) { first, _ in first }
        }
    }

    private static func flags<Group: SettingGroup>(
        of group: Group.Type,
        in container: KeyedDecodingContainer<SettingKey>
    ) throws -> [String: String] {
        try container.decode(OptionGroup<GroupOptions<Group>>.self, forKey: SettingKey("\(Group.self)")).wrappedValue
            .flags
    }

    var customMirror: Mirror {
        func child<Group: SettingGroup>(_ group: Group.Type) -> (String?, Any) {
            ("\(Group.self)", OptionGroup<GroupOptions<Group>>(title: Group.title))
        }
        return Mirror(self, children: Scope.groups.map { child($0) })
    }

    /// The loader of the settings, with this process's environment.
    var loader: SettingsLoader {
        SettingsLoader(flags: flags, environment: processEnvironment(), groups: Scope.groups)
    }
}

/// The flags of a group, under its title.
struct GroupOptions<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    private(set) var flags: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SettingKey.self)
        for row in GroupOptions.arguments.rows {
            let key = SettingKey(row.name)
            if row.kind == .flag {
                flags[row.name] = try container.decode(Flag<Bool?>.self, forKey: key).wrappedValue.map { "\($0)" }
            } else {
                flags[row.name] = try container.decode(Option<String?>.self, forKey: key).wrappedValue
            }
        }
    }

    private static var arguments: GroupArguments { GroupArguments.of(Group.self) }

    var customMirror: Mirror {
        Mirror(self, children: GroupOptions.arguments.children)
    }
}

/// A group's flags with their ArgumentParser definitions, cached because ArgumentParser requests them dozens of times
/// per command line.
private struct GroupArguments: Sendable {
    let rows: [SettingRow]
    private let arguments: [any Sendable]

    private static let known = Mutex<[ObjectIdentifier: GroupArguments]>([:])

    private init(_ settings: [any AnySetting]) {
        rows = settings.flatMap { [$0.row] + [$0.row.fileRow].compactMap(\.self) }.filter { $0.flag != nil }
        arguments = rows.map(\.argument)
    }

    static func of<Group: SettingGroup>(_ group: Group.Type) -> GroupArguments {
        let key = ObjectIdentifier(group)
        if let known = known.withLock({ $0[key] }) { return known }
        let made = GroupArguments(group.settings)
        known.withLock { $0[key] = made }
        return made
    }

    var children: [(String, Any)] {
        zip(rows, arguments).map { ($0.name, $1) }
    }
}

/// The settings of a command.
protocol SettingScope {
    static var groups: [any SettingGroup.Type] { get }
}

/// The settings of the service.
enum ServiceScope: SettingScope {
    static var groups: [any SettingGroup.Type] { SettingsTable.serviceGroups }
}

/// All settings.
enum EveryScope: SettingScope {
    static var groups: [any SettingGroup.Type] { SettingsTable.groups }
}

/// The settings of commands on the applications.
enum RegistryScope: SettingScope {
    static var groups: [any SettingGroup.Type] { [GeneralSettings.self, DatabaseSettings.self] }
}

/// The settings of maintenance commands.
enum DatabaseScope: SettingScope {
    static var groups: [any SettingGroup.Type] { SettingsTable.databaseGroups }
}

typealias ServiceOptions = SettingOptions<ServiceScope>
typealias EveryOption = SettingOptions<EveryScope>
typealias RegistryOptions = SettingOptions<RegistryScope>
typealias DatabaseOptions = SettingOptions<DatabaseScope>

/// A setting's name as a coding key for ArgumentParser.
private struct SettingKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension SettingRow {
    /// The setting's option or flag for ArgumentParser.
    fileprivate var argument: any Sendable {
        let help = ArgumentHelp("\(helpText)", valueName: kind.valueName)
        return kind == .flag
            ? Flag<Bool?>(name: .customLong(name), inversion: .prefixedNo, help: help)
            : Option<String?>(name: .customLong(name), help: help, completion: completion)
    }

    /// The sentence with the variable and the default: "The port (SKYROW_PORT; default: 3000)."
    private var helpText: String {
        let note = defaultValue.isEmpty ? "(\(variable))." : "(\(variable); default: \(defaultValue))."
        let sentence = sentence.replacing("`", with: "")
        return (sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence) + " " + note
    }

    private var completion: CompletionKind {
        switch kind {
        case .text, .flag: .default
        case .choice(_, of: let values): .list(values)
        case .file: .file()
        case .directory: .directory
        }
    }
}
