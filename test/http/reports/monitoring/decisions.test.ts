import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import {
  computeMean,
  computeSum,
  deduped,
  type ExportedRow,
  exportedRows,
} from '../../../support/naive/naive-monitoring.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

/** Income decides alone; `sign` turns the card around, so that a high score is a high risk. */
const spec = (version: string, points: readonly number[], sign: 1 | -1) =>
  card(
    [
      numeric(
        'income',
        points.map((value, index) => [
          index === 0
            ? '(-Infinity, 1]'
            : index === 7
              ? '(7, Infinity)'
              : `(${index}, ${index + 1}]`,
          sign * value,
        ]),
      ),
    ],
    {
      name: 'Compared',
      version,
      base_points: sign * 500,
      scaling: { base_score: sign * 540, base_odds: 20, pdo: sign * 20 },
      risk_grades: [
        { grade: 'low', min_score: null, max_score: sign * 530 - 0.001 },
        { grade: 'high', min_score: sign * 530, max_score: null },
      ],
    },
  )
const CHAMPION = [0, 10, 20, 30, 40, 50, 60, 70]
const CHALLENGER = [20, 5, 45, 45, 45, 15, 80, 35.5]

interface Pair {
  readonly champion: ExportedRow
  readonly challenger: ExportedRow
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  /** 88 applicants of a deployment with a challenger in the shadow; some are scored twice. */
  async function contest(sign: 1 | -1) {
    const { slug, modelId } = await team.deploy(spec('1', CHAMPION, sign))
    const entry = await team.challenge(slug, spec('2', CHALLENGER, sign), 50)
    await team.shadow(slug, true)
    for (let batch = 0; batch < 2; batch++) {
      const records = Array.from({ length: 44 }, (_, index) => ({
        id: `A-${(index * 7) % (33 + batch)}`,
        income: ((index + batch) % 9) + 0.5,
      }))
      await team.scoreBatch(slug, records)
    }
    await statsWith(service, team.key, slug, 88)
    return { slug, id: entry.id, championId: modelId, challengerModelId: entry.modelId }
  }
  const at = (slug: string, end: string) => `/v1/deployments/${slug}/${end}`

  async function readPairs(slug: string, keeps: 'first' | 'last' | 'none'): Promise<Pair[]> {
    const rows = await exportedRows(team, slug)
    const champions = deduped(
      rows.filter(({ role }) => role === 'champion'),
      keeps,
    )
    return champions.map((champion) => {
      const challenger = rows.find(
        (row) =>
          row.role === 'challenger' &&
          row.request_id === champion.request_id &&
          row.record_index === champion.record_index,
      )
      if (challenger === undefined) throw new Error('an applicant has no challenger')
      return { champion, challenger }
    })
  }
  const readPds = (rows: readonly ExportedRow[]) => rows.map(({ pd }) => pd ?? Number.NaN)

  describe.each([1, -1] as const)('with a pdo of the sign %d', (sign) => {
    let of: Awaited<ReturnType<typeof contest>>
    const approves = ({ score }: ExportedRow, cutoff: number | null) =>
      cutoff !== null && sign * (score ?? Number.NaN) >= sign * cutoff

    beforeAll(async () => {
      of = await contest(sign)
    })

    test('cut-offs, bands and grades equal a recount', async () => {
      const cutoffs = [sign * 530, sign * 531, sign * 9_000]
      const query = cutoffs.map((cutoff) => `cutoff=${cutoff}`).join('&')
      const found = await team.done('GET', at(of.slug, `cutoffs?${query}`))
      const rows = (await readPairs(of.slug, 'last')).map(({ champion }) => champion)
      expect(found).toMatchObject({ model_id: of.championId, n: rows.length })
      for (const [index, cutoff] of cutoffs.entries()) {
        const approved = rows.filter((row) => approves(row, cutoff))
        const declined = rows.filter((row) => !approves(row, cutoff))
        const one = found.cutoffs[index]
        expect(one).toMatchObject({
          cutoff,
          approved: approved.length,
          declined: declined.length,
          approval_rate: approved.length / rows.length,
        })
        if (approved.length === 0) expect(one.mean_pd_approved).toBeNull()
        else expect(one.mean_pd_approved).toBeCloseTo(computeMean(readPds(approved)) ?? 0, 12)
        expect(one.expected_bads_declined).toBeCloseTo(computeSum(readPds(declined)), 12)
      }
      expect(computeSum(found.bands.map(({ n }: { n: number }) => n))).toBe(rows.length)
      for (const { min, max, n, mean_pd } of found.bands) {
        expect(max - min).toBe(20)
        const inside = rows.filter(({ score }) => (score ?? 0) >= min && (score ?? 0) < max)
        expect(n).toBe(inside.length)
        expect(mean_pd).toBeCloseTo(computeMean(readPds(inside)) ?? 0, 12)
      }
      for (const { grade, n, share } of found.grades) {
        const inside = rows.filter((row) => row.risk_grade === grade)
        expect([n, share]).toEqual([inside.length, inside.length / rows.length])
      }
      // One alone is as good as several, and a model can be named.
      const single = `cutoffs?cutoff=${cutoffs[0]}&model=${of.challengerModelId}`
      expect((await team.done('GET', at(of.slug, single))).model_id).toBe(of.challengerModelId)
    })

    test.each(['same_cutoff', 'same_approval_rate', 'same_bad_rate', 'explicit'] as const)(
      'a swap set by the rule %s equals a recount',
      async (rule) => {
        for (const points of [-1_000, 501, 530, 535, 9_000]) {
          const cutoff = sign * points
          const own = rule === 'explicit' ? `&challenger_cutoff=${sign * 545}` : ''
          const query = `swap-set?challenger_id=${of.id}&cutoff=${cutoff}&rule=${rule}${own}`
          const found = await team.done('GET', at(of.slug, query))
          const pairs = await readPairs(of.slug, 'last')
          const expected = cutoffBy(rule, cutoff, pairs)
          expect([points, found.challenger_cutoff]).toEqual([points, expected])
          expect(found).toMatchObject({ n: pairs.length, rule, cutoff })
          expect(found.champion_model_ids).toEqual([of.championId])
          for (const [name, byChampion, byChallenger] of CELLS) {
            const inside = pairs.filter(
              ({ champion, challenger }) =>
                approves(champion, cutoff) === byChampion &&
                approves(challenger, expected) === byChallenger,
            )
            const cell = found.cells[name]
            expect([name, cell.n]).toEqual([name, inside.length])
            expect(cell.share).toBe(inside.length / pairs.length)
            const pds = readPds(inside.map(({ challenger }) => challenger))
            expect(cell.expected_bads_challenger).toBeCloseTo(computeSum(pds), 9)
            if (inside.length === 0) expect(cell.mean_pd_champion).toBeNull()
            else {
              const mean = computeMean(readPds(inside.map(({ champion }) => champion)))
              expect(cell.mean_pd_champion).toBeCloseTo(mean ?? 0, 9)
            }
          }
          const [out, into] = [found.cells.swap_out.n, found.cells.swap_in.n]
          if (out + into === 0) expect(found.mcnemar).toBeNull()
          else expect(found.mcnemar.chi2).toBeCloseTo((out - into) ** 2 / (out + into), 12)
        }
      },
    )

    /** Tries every score of the challenger. */
    function cutoffBy(rule: string, cutoff: number, pairs: readonly Pair[]): number | null {
      if (rule === 'same_cutoff') return cutoff
      if (rule === 'explicit') return sign * 545
      const approved = pairs.filter(({ champion }) => approves(champion, cutoff))
      const badRate = computeMean(readPds(approved.map(({ champion }) => champion)))
      let best: number | null = null
      let most = 0
      for (const { challenger: candidate } of pairs) {
        const taken = pairs.filter(({ challenger }) => approves(challenger, candidate.score))
        const rate = computeMean(readPds(taken.map(({ challenger }) => challenger))) ?? 1
        const fits =
          rule === 'same_approval_rate'
            ? taken.length <= approved.length
            : badRate !== null && rate <= badRate + 1e-12
        if (fits && taken.length > most) [best, most] = [candidate.score, taken.length]
      }
      return best
    }

    // They share a scan of the log, and each must get its own applicants.
    test('reports that are asked for at once answer what each answers alone', async () => {
      const swap = `swap-set?challenger_id=${of.id}&cutoff=${sign * 530}&rule=same_approval_rate`
      const asked = [
        'stability',
        'stability/series?interval=day',
        `cutoffs?cutoff=${sign * 530}`,
        `cutoffs?cutoff=${sign * 530}&model=${of.challengerModelId}`,
        swap,
        `migration?challenger_id=${of.id}`,
      ].map((path) => at(of.slug, path))
      const together = await Promise.all(asked.map((path) => team.done('GET', path)))
      for (const [index, path] of asked.entries()) {
        expect(together[index]).toEqual(await team.done('GET', path))
      }
    })

    test.each(['last', 'first', 'none'] as const)(
      'a migration of grades with dedupe=%s equals a recount',
      async (dedupe) => {
        const query = `migration?challenger_id=${of.id}&dedupe=${dedupe}`
        const found = await team.done('GET', at(of.slug, query))
        const pairs = await readPairs(of.slug, dedupe)
        expect(found.n).toBe(pairs.length)
        const graded = pairs.filter(
          ({ champion, challenger }) =>
            champion.risk_grade !== null && challenger.risk_grade !== null,
        )
        const stable = graded.filter(
          ({ champion, challenger }) => champion.risk_grade === challenger.risk_grade,
        )
        expect(found).toMatchObject({ dedupe, from: null, to: null, n_graded: graded.length })
        expect(found.stable_share).toBe(stable.length / graded.length)
        for (const cell of found.cells) {
          const row = pairs.filter(({ champion }) => champion.risk_grade === cell.champion_grade)
          const inside = row.filter(
            ({ challenger }) => challenger.risk_grade === cell.challenger_grade,
          )
          expect([cell.n, cell.row_share]).toEqual([inside.length, inside.length / row.length])
          const mean = computeMean(readPds(inside.map(({ challenger }) => challenger)))
          expect(cell.mean_pd_challenger).toBeCloseTo(mean ?? 0, 12)
        }
        expect(computeSum(found.cells.map(({ n }: { n: number }) => n))).toBe(pairs.length)
      },
    )
  })

  test('an unknown challenger, and a cut-off without its rule, are refused', async () => {
    const { slug } = await team.deploy(spec('1', CHAMPION, 1))
    const { id } = await team.challenge(slug, spec('2', CHALLENGER, 1), 50)
    const refusal = async (query: string) =>
      findOutcome(await team.call('GET', at(slug, `swap-set?${query}`)))
    const other = `challenger_id=${id.slice(0, -1)}-&cutoff=1`
    expect(await refusal(other)).toBe('404 challenger_not_found')
    expect(await refusal(`challenger_id=${id}`)).toBe('400 invalid_request')
    expect(await refusal(`challenger_id=${id}&cutoff=x`)).toBe('400 invalid_request')
    const explicit = `challenger_id=${id}&cutoff=1&rule=explicit`
    expect(await refusal(explicit)).toBe('400 invalid_request')
    const needless = `challenger_id=${id}&cutoff=1&challenger_cutoff=2`
    expect(await refusal(needless)).toBe('400 invalid_request')
    const many = Array.from({ length: 101 }, (_, index) => `cutoff=${index}`).join('&')
    expect(findOutcome(await team.call('GET', at(slug, `cutoffs?${many}`)))).toBe(
      '400 invalid_request',
    )
  })

  test('without applicants rates are null, and so is what needs them', async () => {
    const { slug } = await team.deploy(spec('1', CHAMPION, 1))
    const { id } = await team.challenge(slug, spec('2', CHALLENGER, 1), 50)
    const swap = `swap-set?challenger_id=${id}&cutoff=1&rule=same_bad_rate`
    expect(await team.done('GET', at(slug, swap))).toMatchObject({
      n: 0,
      challenger_cutoff: null,
      approval_rate: null,
      mcnemar: null,
      cells: { swap_in: { n: 0, share: null, mean_pd_champion: null, expected_bads_champion: 0 } },
    })
    const migration = await team.done('GET', at(slug, `migration?challenger_id=${id}`))
    expect(migration).toEqual({
      from: null,
      to: null,
      dedupe: 'last',
      n: 0,
      n_graded: 0,
      cells: [],
      stable_share: null,
    })
  })
})

const CELLS = [
  ['both_approve', true, true],
  ['swap_out', true, false],
  ['swap_in', false, true],
  ['both_decline', false, false],
] as const
