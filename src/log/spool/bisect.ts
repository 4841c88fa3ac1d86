/** The way an attempt to store records failed, judged by its error. */
export type Failure =
  /** One of the records can never be stored. */
  | 'record'
  /** The cause is one of the records or the state of the database. */
  | 'unclear'
  /** The database is unavailable, or rejects every statement. */
  | 'database'

export interface Suspect<R> {
  readonly record: R
  readonly error: unknown
  readonly failure: Failure
}

/** Records that may fail alone, while none is stored, before a witness is needed. */
const LONE_FAILURES_MAX = 2

/**
 * Stores records and finds those that can't be stored by bisection: it repeats a failed part in
 * halves.
 *
 * @param store stores all given records or none
 * @param judge classifies an error of `store`
 * @param witness stores other records; resolves to true if the database accepted some
 * @returns the records that failed alone, in order; all others are stored
 * @throws the error of `store` if no record is the cause, or while no stored record proves that one
 *   is
 */
export async function storeAllBut<R>(
  records: readonly R[],
  store: (records: readonly R[]) => Promise<void>,
  judge: (error: unknown) => Failure,
  witness: () => Promise<boolean>,
): Promise<Suspect<R>[]> {
  const suspects: Suspect<R>[] = []
  let isAnyStored = false
  const attempt = async (part: readonly R[]): Promise<void> => {
    try {
      await store(part)
      isAnyStored = true
    } catch (error) {
      const failure = judge(error)
      const [record] = part
      if (failure === 'database' || record === undefined) throw error
      if (part.length > 1) {
        const half = part.length >>> 1
        await attempt(part.slice(0, half))
        await attempt(part.slice(half))
        return
      }
      suspects.push({ record, error, failure })
      if (listUnclear(suspects).length >= LONE_FAILURES_MAX) await prove(error)
    }
  }
  const prove = async (error: unknown): Promise<void> => {
    isAnyStored ||= await witness()
    if (!isAnyStored) throw error
  }
  await attempt(records)
  const [unclear] = listUnclear(suspects)
  if (unclear !== undefined) await prove(unclear.error)
  return suspects
}

function listUnclear<R>(suspects: readonly Suspect<R>[]): Suspect<R>[] {
  return suspects.filter(({ failure }) => failure === 'unclear')
}
