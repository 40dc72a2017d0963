import CSQLFiles
import Glibc
import SkyrowSystem

/// The function server for Node, `skyrow-functions.mjs`, which is part of the executable; empty in a build without it.
var embeddedJavaScriptServer: [UInt8] {
    Array(String(cString: skyrow_functions_mjs()).utf8)
}

extension Settings {
    /// Returns the function servers of the default application, and writes the one for Node into the data directory if it is needed.
    ///
    /// Throws ``ToolError`` for a wrong `functions.json`, and if the file cannot be written.
    func functionServers(in directory: DataDirectory) throws(ToolError) -> [FunctionServerPlan] {
        let path = "\(resolvedPath(directory.path) ?? directory.path)/\(FunctionDirectory.javaScriptServer)"
        let plans = try functionServers(node: path)
        let isNeeded = plans.contains { plan in
            if case .program(let program) = plan.place { program.command.contains(path) } else { false }
        }
        guard isNeeded else { return plans }
        let bytes = embeddedJavaScriptServer
        guard !bytes.isEmpty else {
            throw .failure(
                "This build of skyrow has no function server for *.mjs: copy skyrow-functions.mjs beside them."
            )
        }
        let file = try OutputFile(path: path, replacing: true)
        try file.write(bytes)
        try file.finish()
        return plans
    }
}
