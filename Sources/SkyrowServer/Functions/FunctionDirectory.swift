import SkyrowJSON
import SkyrowRemote
package import SkyrowSystem

/// A directory of functions: the servers that its `functions.json` describes, or those that follow from its files.
package enum FunctionDirectory {
    package static let fileName = "functions.json"
    /// The function server for JavaScript, which is part of the executable.
    static let javaScriptServer = "skyrow-functions.mjs"

    /// Returns the servers of a directory. Throws ``ToolError`` if it has none, or a wrong `functions.json`.
    ///
    /// - Parameters:
    ///   - memory: The bound of programs without one.
    ///   - node: The path of the function server for JavaScript.
    package static func plans(in path: String, memory: Int?, node: String) throws(ToolError) -> [FunctionServerPlan] {
        guard let directory = resolvedPath(path), let names = contentsOfDirectory(directory) else {
            throw .configuration("functions: the directory \(path) does not exist, or cannot be read.")
        }
        if names.contains(fileName) {
            let file = "\(directory)/\(fileName)"
            return try FunctionsFile(reading: file, in: directory, memory: memory).plans
        }
        let plans = plans(of: names, in: directory, memory: memory, node: node)
        guard !plans.isEmpty else {
            throw .configuration(
                "functions: the directory \(path) has neither \(fileName) nor files *.py or *.mjs, and so no server."
            )
        }
        return plans
    }

    /// Returns the servers of a directory without `functions.json`: one of its Python files, and one of those in JavaScript.
    static func plans(of names: [String], in directory: String, memory: Int?, node: String) -> [FunctionServerPlan] {
        // What begins with a hyphen would be an option of the program.
        let names = names.filter { !$0.hasPrefix(".") && !$0.hasPrefix("-") }.sorted()
        func plan(_ name: String, _ suffix: String, _ command: [String]) -> FunctionServerPlan? {
            let files = names.filter { $0.hasSuffix(suffix) && $0 != javaScriptServer }
            guard !files.isEmpty else { return nil }
            let program = FunctionProgram(command + files, in: directory, watch: ["*\(suffix)"], memory: memory)
            return FunctionServerPlan(name, at: .program(program))
        }
        // A copy beside the functions is the one that they were written for.
        let server = names.contains(javaScriptServer) ? javaScriptServer : node
        return [
            plan("python", ".py", ["py-skygear", "--http", "--http-addr", "{address}"]),
            plan("javascript", ".mjs", ["node", server, "{address}"]),
        ].compactMap(\.self)
    }
}

/// The file `functions.json`.
///
/// ```json
/// {"servers": {"main": {"command": ["py-skygear", "--http", "--http-addr", "{address}", "app"], "watch": ["*.py"]},
///              "mail": {"url": "http+unix://%2Frun%2Fmail.sock/", "timeout": "2s"}}}
/// ```
package struct FunctionsFile: Hashable, Sendable {
    /// In the order of the file.
    package private(set) var plans: [FunctionServerPlan] = []

    /// Reads the file. Throws ``ToolError`` if it is unreadable, has an unknown member, or one with a wrong value.
    package init(reading path: String, in directory: String, memory: Int?) throws(ToolError) {
        let bytes: [UInt8]
        do {
            bytes = try bytesOfFile(path)
        } catch {
            throw .configuration(error.description)
        }
        try self.init(path: path, json: bytes, in: directory, memory: memory)
    }

    package init(path: String, json: [UInt8], in directory: String, memory: Int?) throws(ToolError) {
        let document: JSONDocument
        do {
            document = try JSONDocument(json)
        } catch {
            throw .configuration("\(path) is not valid JSON. \(error).")
        }
        plans = try document.withRoot { root throws(ToolError) in
            var servers: [FunctionServerPlan]?
            try FunctionsFile.members(of: root, "The file", in: path) { name, value throws(ToolError) in
                guard name == "servers" else { return false }
                servers = try FunctionsFile.servers(value, in: path, directory, memory)
                return true
            }
            guard let servers, !servers.isEmpty else {
                throw .configuration("\(path) must have the member 'servers' with at least one server.")
            }
            return servers
        }
    }

    /// Passes the members of an object to a closure, which returns whether it has read them.
    private static func members(
        of object: JSONView,
        _ subject: String,
        in path: String,
        _ read: (String, JSONView) throws(ToolError) -> Bool
    ) throws(ToolError) {
        guard object.isObject else { throw .configuration("\(subject) in \(path) must be an object.") }
        var names: Set<String> = []
        for (key, value) in object.members {
            let name = key.string ?? ""
            guard names.insert(name).inserted else {
                throw .configuration("\(subject) in \(path) has the member '\(name)' twice.")
            }
            guard try read(name, value) else {
                throw .configuration("\(subject) in \(path) has the unknown member '\(name)'.")
            }
        }
    }

    private static func servers(
        _ value: JSONView,
        in path: String,
        _ directory: String,
        _ memory: Int?
    ) throws(ToolError) -> [FunctionServerPlan] {
        var plans: [FunctionServerPlan] = []
        try members(of: value, "'servers'", in: path) { name, value throws(ToolError) in
            guard FunctionServerPlan.isName(name) else {
                throw .configuration(
                    "'\(name)' in \(path) is no name of a server: a lowercase letter, and up to 31 lowercase letters, digits, - "
                        + "and _."
                )
            }
            plans.append(try server(name, value, in: path, directory, memory))
            return true
        }
        return plans
    }

    private static func server(
        _ name: String,
        _ value: JSONView,
        in path: String,
        _ directory: String,
        _ memory: Int?
    ) throws(ToolError) -> FunctionServerPlan {
        var address: FunctionAddress?
        var program: FunctionProgram?
        var options = FunctionProgram([], in: directory, memory: memory)
        // The members that only a program has.
        var ofPrograms: [String] = []
        var timeout: Duration?
        var concurrency: Int?
        var overrides: Set<String> = []
        try members(of: value, "'\(name)'", in: path) { member, value throws(ToolError) in
            func refusal(_ expectation: String) -> ToolError {
                .configuration("'\(name).\(member)' in \(path) must be \(expectation).")
            }
            switch member {
            case "url":
                address = value.string.flatMap { FunctionAddress($0) }
                if address == nil {
                    throw refusal(
                        "an address such as http://127.0.0.1:8000, https://… or http+unix://%2Frun%2Fmail.sock/"
                    )
                }
            case "command":
                guard let words = texts(value), let first = words.first, !first.isEmpty else {
                    throw refusal("a list of the program and its arguments")
                }
                program = FunctionProgram(words, in: directory)
            case "watch":
                ofPrograms.append(member)
                guard let patterns = texts(value), patterns.count <= 32, patterns.allSatisfy(isPattern) else {
                    throw refusal(
                        "a list of at most 32 patterns such as *.py, relative to the directory and without .."
                    )
                }
                options.watch = patterns
            case "environment":
                ofPrograms.append(member)
                guard let variables = variables(value) else {
                    throw refusal("an object of strings, named by letters, digits and underscores")
                }
                options.environment = variables
            case "memory":
                ofPrograms.append(member)
                let text = value.string ?? ""
                let bytes = MemoryText.bytes(text)
                guard text == "off" || bytes != nil else { throw refusal("an amount from 16MB to 1024GB, or off") }
                options.memory = bytes
            case "timeout":
                timeout = value.string.flatMap { DurationText.duration($0) }
                guard let timeout, FunctionSettings.times.contains(timeout) else {
                    throw refusal("a duration from 100ms to 1h, such as 10s")
                }
            case "concurrency":
                concurrency = Int(String(decoding: value.source, as: UTF8.self))
                guard let concurrency, FunctionSettings.concurrencies.contains(concurrency) else {
                    throw refusal("a whole number from 1 to \(FunctionSettings.concurrencies.upperBound)")
                }
            case "override":
                guard let names = texts(value) else { throw refusal("a list of names of actions") }
                overrides = Set(names)
            default:
                return false
            }
            return true
        }
        let place: FunctionServerPlan.Place
        switch (address, program) {
        case (let address?, nil):
            if let member = ofPrograms.first {
                throw .configuration("'\(name)' in \(path) has '\(member)', which requires 'command'.")
            }
            place = .address(address)
        case (nil, let program?):
            options.command = program.command
            place = .program(options)
        case (nil, nil), (_?, _?):
            throw .configuration("'\(name)' in \(path) must have either 'command' or 'url'.")
        }
        var plan = FunctionServerPlan(name, at: place)
        plan.timeout = timeout
        plan.concurrency = concurrency
        plan.overrides = overrides
        return plan
    }

    /// Returns the elements of a list of strings without zero bytes; nil for anything else.
    private static func texts(_ value: JSONView) -> [String]? {
        guard value.isArray else { return nil }
        let texts = value.elements.map(\.string)
        let known = texts.compactMap(\.self)
        return known.count == texts.count && !known.contains { $0.utf8.contains(0) } ? known : nil
    }

    /// Whether a pattern stays in the directory.
    private static func isPattern(_ text: String) -> Bool {
        !text.isEmpty && !text.hasPrefix("/") && !text.split(separator: "/").contains("..")
    }

    private static func variables(_ value: JSONView) -> [String: String]? {
        guard value.isObject else { return nil }
        var variables: [String: String] = [:]
        for (key, value) in value.members {
            guard let name = key.string, let text = value.string, !text.utf8.contains(0), let first = name.utf8.first,
                !isDigit(first), name.utf8.allSatisfy({ isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }),
                variables.updateValue(text, forKey: name) == nil
            else { return nil }
        }
        return variables
    }
}
