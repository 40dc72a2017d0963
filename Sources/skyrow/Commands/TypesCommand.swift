import ArgumentParser
import SkyrowActions
import SkyrowHTTP
import SkyrowProtocol

/// `skyrow types`
struct TypesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "Print the parameters and results of all actions as types of a programming language.",
        subcommands: [TypeScriptCommand.self]
    )
}

/// `skyrow types typescript`
struct TypeScriptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "typescript",
        abstract: "Print a TypeScript declaration of all actions.",
        discussion: """
            The interface Actions has the parameters and the result of each action by its name.

            skyrow types typescript > skyrow.d.ts
            """
    )

    func run() {
        print(TypeScriptDeclaration.text(of: ActionTable.all.map(\.description)), terminator: "")
    }
}
