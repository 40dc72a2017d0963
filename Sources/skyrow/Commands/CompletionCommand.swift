import ArgumentParser

/// `skyrow completion`
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print a script that completes skyrow's commands and options in a shell.",
        discussion: """
            bash: skyrow completion bash > /usr/local/share/bash-completion/completions/skyrow

            zsh: skyrow completion zsh > /usr/local/share/zsh/site-functions/_skyrow

            fish: skyrow completion fish > /usr/local/share/fish/vendor_completions.d/skyrow.fish
            """
    )

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash
        case zsh
        case fish
    }

    func run() {
        let shell: CompletionShell =
            switch self.shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        print(SkyrowCommand.completionScript(for: shell))
    }
}
