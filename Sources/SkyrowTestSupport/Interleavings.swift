/// All orders in which the steps of several scripts can happen, each script in its own order.
package func interleavings<Step>(_ scripts: [[Step]]) -> [[Step]] {
    let rest = scripts.filter { !$0.isEmpty }
    guard !rest.isEmpty else { return [[]] }
    return rest.indices.flatMap { place in
        var others = rest
        let step = others[place].removeFirst()
        return interleavings(others).map { [step] + $0 }
    }
}
