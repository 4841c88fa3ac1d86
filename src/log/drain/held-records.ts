import { type RecordV4, readHeadV4 } from '../record/record-v4.ts'

/** Records of a team whose tree can't grow. */
export interface HeldRecords {
  readonly teamId: string
  readonly records: readonly RecordV4[]
}

/**
 * Splits a batch into the records of some teams, which wait in files until their trees are mended,
 * and the others, which go on. What grew from a damaged tree could not be proved.
 */
export function splitByTeam(
  records: readonly RecordV4[],
  teamIds: ReadonlySet<string>,
): { readonly held: readonly HeldRecords[]; readonly others: readonly RecordV4[] } {
  const byTeam = Map.groupBy(records, ({ headBytes }) => readHeadV4(headBytes).teamId)
  const held = [...teamIds].map((teamId) => ({ teamId, records: byTeam.get(teamId) ?? [] }))
  for (const teamId of teamIds) byTeam.delete(teamId)
  return { held, others: [...byTeam.values()].flat() }
}
