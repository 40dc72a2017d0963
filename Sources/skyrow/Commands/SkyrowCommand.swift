import ArgumentParser
import SkyrowModel

/// The tool: the service and the operator's maintenance commands.
@main
struct SkyrowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skyrow",
        abstract: "A record service for applications that keeps its data in plain PostgreSQL tables.",
        version: SkyrowVersion.text,
        subcommands: [
            ServeCommand.self, AppCommand.self, ImportCommand.self, ExportCommand.self, BackupCommand.self,
            RestoreCommand.self, FilesCommand.self,
            SchemaCommand.self, UserCommand.self, RoleCommand.self, KeyCommand.self, FunctionsCommand.self,
            PoliciesCommand.self,
            AuditCommand.self,
            DoctorCommand.self,
            PsqlCommand.self,
            MigrateCommand.self,
            ConfigCommand.self, TypesCommand.self, CompletionCommand.self, ManualCommand.self,
        ]
    )
}
