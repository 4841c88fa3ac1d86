import { setTimeout } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { SLOTS } from '../../../src/platform/redis-cluster/key-slots.ts'
import { freePort } from './free-port.ts'
import { RedisServer } from './redis-server.ts'

const NODE_TIMEOUT_MS = 1_000
const READY_MS_MAX = 120_000
const KEYS_AT_ONCE = 100

/** A node of a cluster; without its slots it serves those of the others no less. */
class ClusterNode extends RedisServer {
  readonly busPort: number
  private connection: Redis | null = null

  private constructor(port: number, busPort: number) {
    const timeouts = ['--cluster-node-timeout', `${NODE_TIMEOUT_MS}`]
    const own = ['--cluster-port', `${busPort}`, '--repl-diskless-sync-delay', '0']
    const rest = ['--cluster-require-full-coverage', 'no', '--cluster-replica-validity-factor', '0']
    super(port, ['--cluster-enabled', 'yes', ...timeouts, ...own, ...rest])
    this.busPort = busPort
  }

  static async launch(): Promise<ClusterNode> {
    const node = new ClusterNode(await freePort(), await freePort())
    await node.restart()
    return node
  }

  /** Sends a command. */
  async ask(...[command, ...args]: [string, ...(string | number)[]]): Promise<unknown> {
    this.connection ??= this.client()
    return this.connection.call(command, ...args)
  }

  override async remove(): Promise<void> {
    this.connection?.disconnect()
    await super.remove()
  }

  async id(): Promise<string> {
    return String(await this.ask('CLUSTER', 'MYID'))
  }
}

/** A cluster of Redis servers for one test: masters with equal shares, and a replica for each. */
export class RedisClusterServers {
  readonly masters: readonly ClusterNode[]
  /** In the order of their masters. */
  readonly replicas: readonly ClusterNode[]

  private constructor(masters: readonly ClusterNode[], replicas: readonly ClusterNode[]) {
    this.masters = masters
    this.replicas = replicas
  }

  static async start(masters: number, { hasReplicas = false } = {}): Promise<RedisClusterServers> {
    const launch = (count: number) =>
      Promise.all(Array.from({ length: count }, () => ClusterNode.launch()))
    const servers = new RedisClusterServers(
      await launch(masters),
      await launch(hasReplicas ? masters : 0),
    )
    onTestFinished(async () => void (await Promise.all(servers.all.map((one) => one.remove()))))
    await servers.join()
    return servers
  }

  get all(): ClusterNode[] {
    return [...this.masters, ...this.replicas]
  }

  get url(): string {
    return `redis+cluster://${this.masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  }

  /** Index of the master that was given a slot at the start. */
  findMaster(slot: number): number {
    return Math.floor((slot * this.masters.length) / SLOTS)
  }

  /** Moves slots with their keys to another master, as an operator does who adds a node. */
  async move(slots: readonly number[], from: number, to: number): Promise<void> {
    const [source, target] = [this.masters[from], this.masters[to]]
    if (source === undefined || target === undefined) throw new Error('there is no such master')
    const [sourceId, targetId] = [await source.id(), await target.id()]
    for (const slot of slots) {
      await target.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
      await source.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
      for (;;) {
        const keys = await source.ask('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)
        if (!Array.isArray(keys) || keys.length === 0) break
        const place = ['127.0.0.1', target.port, '', 0, 1_000] as const
        await source.ask('MIGRATE', ...place, 'KEYS', ...keys.map(String))
      }
      for (const node of [target, source, ...this.masters]) {
        await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
      }
    }
  }

  private async join(): Promise<void> {
    const [first] = this.masters
    const count = this.masters.length
    for (const [index, node] of this.masters.entries()) {
      const from = Math.ceil((index * SLOTS) / count)
      const to = Math.ceil(((index + 1) * SLOTS) / count) - 1
      await node.ask('CLUSTER', 'ADDSLOTSRANGE', from, to)
      await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    }
    for (const node of this.all.slice(1)) {
      await node.ask('CLUSTER', 'MEET', '127.0.0.1', first?.port ?? 0, first?.busPort ?? 0)
    }
    await this.until('cluster_known_nodes', String(this.all.length))
    for (const [index, replica] of this.replicas.entries()) {
      await replica.ask('CLUSTER', 'REPLICATE', (await this.masters[index]?.id()) ?? '')
    }
    await this.until('cluster_slots_ok', String(SLOTS))
    await this.until('cluster_state', 'ok')
    for (const replica of this.replicas) {
      await waitFor(async () =>
        String(await replica.ask('INFO', 'replication')).includes('link_status:up'),
      )
    }
  }

  /** Waits until all nodes say this of the cluster. */
  private async until(fact: string, value: string): Promise<void> {
    for (const node of this.all) {
      await waitFor(async () => {
        const info = String(await node.ask('CLUSTER', 'INFO'))
        return info.includes(`${fact}:${value}\r`)
      })
    }
  }
}

async function waitFor(holds: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now()
  while (!(await holds())) {
    if (performance.now() - startedMs > READY_MS_MAX) throw new Error('the cluster does not form')
    await setTimeout(20)
  }
}
