/** Calls after which the database or the store is not as before. */
const CHANGES = [
  'begin',
  'delete',
  'giveUp',
  'giveUpForgotten',
  'put',
  'replace',
  'replaceFile',
  'setForeign',
  'setGone',
  'setListed',
  'switchTo',
]

/**
 * A process that stands still before one of its changes, and can go on much later. From then on all
 * its calls of the database and of the store stand still, the renewal of its leases, too.
 */
export class FrozenProcess {
  private changes = 0
  private isFrozen = false
  private readonly freezeAt: number
  private readonly frozen = Promise.withResolvers<'frozen'>()
  private readonly thawed = Promise.withResolvers<void>()

  /** @param freezeAt which of its changes, from 1 */
  constructor(freezeAt: number) {
    this.freezeAt = freezeAt
  }

  readonly stepping = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return async (...args: unknown[]) => {
          await this.step(String(name))
          return member.apply(target, args)
        }
      },
    })

  /** @returns whether the work ended before the process stood still */
  async run(work: Promise<unknown>): Promise<boolean> {
    const ended = work.then(
      () => 'ended' as const,
      () => 'ended' as const,
    )
    return (await Promise.race([ended, this.frozen.promise])) === 'ended'
  }

  thaw(): void {
    this.thawed.resolve()
  }

  private async step(name: string): Promise<void> {
    if (CHANGES.includes(name)) this.changes++
    if (this.changes >= this.freezeAt) this.isFrozen = true
    if (!this.isFrozen) return
    this.frozen.resolve('frozen')
    await this.thawed.promise
  }
}
