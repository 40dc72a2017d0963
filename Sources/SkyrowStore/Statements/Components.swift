/// Returns the strongly connected components of a graph, dependencies first.
///
/// `edges[n]` are the nodes that node `n` depends on. A component of one node without an edge to itself is not a cycle.
/// Tarjan's algorithm, without recursion: a request may chain ten thousand records.
func stronglyConnectedComponents(edges: [[Int]]) -> [[Int]] {
    var components: [[Int]] = []
    var index = [Int](repeating: -1, count: edges.count)
    var lowest = [Int](repeating: 0, count: edges.count)
    var isOnStack = [Bool](repeating: false, count: edges.count)
    var stack: [Int] = []
    var visits: [(node: Int, edge: Int)] = []
    var counter = 0

    func enter(_ node: Int) {
        index[node] = counter
        lowest[node] = counter
        counter += 1
        stack.append(node)
        isOnStack[node] = true
        visits.append((node, 0))
    }

    for root in edges.indices where index[root] < 0 {
        enter(root)
        while let (node, edge) = visits.last {
            if edge < edges[node].count {
                visits[visits.count - 1].edge += 1
                let next = edges[node][edge]
                if index[next] < 0 {
                    enter(next)
                } else if isOnStack[next] {
                    lowest[node] = min(lowest[node], index[next])
                }
                continue
            }
            visits.removeLast()
            if let parent = visits.last?.node { lowest[parent] = min(lowest[parent], lowest[node]) }
            guard lowest[node] == index[node] else { continue }
            var component: [Int] = []
            while let member = stack.popLast() {
                isOnStack[member] = false
                component.append(member)
                if member == node { break }
            }
            components.append(component.sorted())
        }
    }
    return components
}
