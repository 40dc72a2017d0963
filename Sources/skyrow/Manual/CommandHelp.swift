import ArgumentParser
import SkyrowJSON
import SkyrowProtocol
import SkyrowSystem

/// ArgumentParser's JSON description of a command (`--experimental-dump-help`).
struct CommandHelp: Hashable, Sendable {
    struct Argument: Hashable, Sendable {
        /// `-h, --help`; empty for a positional argument.
        var names: [String]
        var valueName: String?
        var isOptional: Bool
        var isRepeating: Bool
        /// The heading of the argument's section; nil for the command's own.
        var section: String?
        var abstract: String
    }

    /// `["skyrow", "import"]`
    var path: [String]
    var abstract: String
    var discussion: String
    var arguments: [Argument]
    var subcommands: [CommandHelp]

    /// Returns the tool with all commands that are not hidden.
    static func all() throws(ToolError) -> CommandHelp {
        let document: JSONDocument
        do {
            document = try JSONDocument(Array(SkyrowCommand._dumpHelp().utf8))
        } catch {
            throw .failure("The description of the commands is not valid JSON. \(error).")
        }
        let help = document.withRoot { root in root["command"].flatMap { CommandHelp($0, above: []) } }
        guard let help else { throw .failure("The format in which ArgumentParser describes commands has changed.") }
        return help
    }

    private init?(_ view: JSONView, above: [String]) {
        guard let name = view["commandName"]?.string else { return nil }
        path = above + [name]
        abstract = view["abstract"]?.string ?? ""
        discussion = view["discussion"]?.string ?? ""
        arguments = []
        for argument in view["arguments"]?.elements.compactMap({ $0.isShown ? Argument($0) : nil }) ?? [] {
            // --development and --no-development are one option.
            if var last = arguments.last, argument.names == last.names.map({ "--no-\($0.dropFirst(2))" }) {
                last.names += argument.names
                arguments[arguments.count - 1] = last
            } else {
                arguments.append(argument)
            }
        }
        let path = path
        subcommands =
            view["subcommands"]?.elements.compactMap { command in
                // The help command has no page.
                command.isShown && command["commandName"]?.string != "help" ? CommandHelp(command, above: path) : nil
            } ?? []
    }
}

extension CommandHelp.Argument {
    fileprivate init?(_ view: JSONView) {
        guard let kind = view["kind"]?.string else { return nil }
        names =
            view["names"]?.elements.compactMap { name in
                name["name"]?.string.map { name["kind"]?.string == "short" ? "-\($0)" : "--\($0)" }
            } ?? []
        valueName = kind == "flag" ? nil : view["valueName"]?.string
        isOptional = view["isOptional"]?.boolean ?? true
        isRepeating = view["isRepeating"]?.boolean ?? false
        section = view["sectionTitle"]?.string
        abstract = view["abstract"]?.string ?? ""
    }
}

extension JSONView {
    fileprivate var isShown: Bool { self["shouldDisplay"]?.boolean ?? true }
}
