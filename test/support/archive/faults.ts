import type { ObjectStore } from '../../../src/platform/object-store/object-store.ts'

/** A part with other methods in the place of some of its own. */
export function changed<Part extends object>(part: Part, methods: Partial<Part>): Part {
  return new Proxy(part, {
    get(target, name) {
      const other: unknown = Reflect.get(methods, name)
      const member: unknown = other ?? Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** A moment that work has reached, and from which it goes on later. */
export class Halt {
  private readonly reach = Promise.withResolvers<void>()
  private readonly goOn = Promise.withResolvers<void>()
  readonly reached = this.reach.promise

  /** Stands still. */
  async here(): Promise<void> {
    this.reach.resolve()
    await this.goOn.promise
  }

  end(): void {
    this.goOn.resolve()
  }
}

/** A store of objects that does something else with Parquet files. */
export function withFiles(
  store: ObjectStore,
  methods: {
    readonly put?: (
      put: ObjectStore['put'],
      ...of: Parameters<ObjectStore['put']>
    ) => ReturnType<ObjectStore['put']>
    readonly delete?: (remove: ObjectStore['delete'], key: string) => Promise<void>
  },
): ObjectStore {
  const isFile = (key: string) => key.endsWith('.parquet')
  const put = store.put.bind(store)
  const remove = store.delete.bind(store)
  return changed(store, {
    put: (key, source) =>
      isFile(key) && methods.put !== undefined ? methods.put(put, key, source) : put(key, source),
    delete: (key) =>
      isFile(key) && methods.delete !== undefined ? methods.delete(remove, key) : remove(key),
  })
}
