import SkyrowModel
import SkyrowSystem

/// A page of section 1 of the manual, for man(1).
struct ManualPage: Hashable, Sendable {
    /// `skyrow-import`
    var name: String
    var text: String

    /// Returns the pages of a command and its subcommands.
    static func pages(of command: CommandHelp, siblings: [String] = []) -> [ManualPage] {
        let others = command.subcommands.map(\.page)
        let page = ManualPage(name: command.page, text: ManualPage.text(of: command, others: siblings + others))
        return [page] + command.subcommands.flatMap { pages(of: $0, siblings: [command.page]) }
    }

    private static func text(of command: CommandHelp, others: [String]) -> String {
        var roff = Roff()
        roff.line(".TH \(command.page.uppercased()) 1 \"\" \"Skyrow \(SkyrowVersion.text)\" \"Skyrow\"")
        roff.heading("Name")
        roff.text("\(command.page) - \(command.abstract.withoutFullStop)")
        roff.heading("Synopsis")
        for words in command.synopsis { roff.bold(words.bold, then: words.rest) }
        if !command.discussion.isEmpty {
            roff.heading("Description")
            roff.paragraphs(command.discussion)
        }
        if !command.subcommands.isEmpty {
            roff.heading("Commands")
            for subcommand in command.subcommands {
                roff.item(subcommand.path.joined(separator: " "), subcommand.abstract)
            }
        }
        for section in command.sections {
            roff.heading(section.title)
            for argument in section.arguments {
                let label =
                    argument.names.isEmpty ? "<\(argument.valueName ?? "")>" : argument.names.joined(separator: ", ")
                roff.item(label, value: argument.names.isEmpty ? nil : argument.valueName, argument.abstract)
            }
        }
        roff.heading("Exit status")
        for (status, meaning) in ExitStatus.meanings(of: command.path) { roff.item("\(status)", meaning) }
        if !others.isEmpty {
            roff.heading("See also")
            roff.text(others.map { "\($0)(1)" }.joined(separator: ", "))
        }
        return roff.output
    }
}

extension CommandHelp {
    fileprivate var page: String { path.joined(separator: "-") }

    fileprivate var synopsis: [(bold: String, rest: String)] {
        let name = path.joined(separator: " ")
        if !subcommands.isEmpty { return [(name, "<command> [options]")] }
        let required = arguments.filter { !$0.isOptional && !$0.names.isEmpty }
        let words =
            required.map { "\($0.names[0]) <\($0.valueName ?? "")>" } + ["[options]"]
            + arguments.filter { $0.names.isEmpty }.map { argument in
                let value = "<\(argument.valueName ?? "")>" + (argument.isRepeating ? " ..." : "")
                return argument.isOptional ? "[\(value)]" : value
            }
        return [(name, words.joined(separator: " "))]
    }

    /// The arguments by heading, the command's own first.
    fileprivate var sections: [(title: String, arguments: [Argument])] {
        var titles: [String?] = [nil]
        for argument in arguments where !titles.contains(argument.section) { titles.append(argument.section) }
        return titles.compactMap { title in
            let arguments = arguments.filter { $0.section == title }
            return arguments.isEmpty ? nil : (title ?? "Options", arguments)
        }
    }
}

extension String {
    fileprivate var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
