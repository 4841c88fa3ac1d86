import { Button, TextInput } from '@mantine/core'
import { keepPreviousData } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useAnswer } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { LISTED_BINS_MAX } from '../../contract.ts'
import { useAddress } from '../../ui/address.ts'
import { type FeatureName, featureNames } from '../../ui/card.ts'
import { typed } from '../../ui/fields.tsx'
import { NONE, number, readNumber, signed, twoDecimals, whole } from '../../ui/figures.ts'
import { LanguageChoice } from '../../ui/language-choice.tsx'
import { Panel } from '../../ui/page.tsx'
import { codeText, methodWords } from '../../ui/reason-words.ts'
import { Empty, Loaded, Notice } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { LetterPanel } from './letter-panel.tsx'
import { binWords, Waterfall } from './waterfall.tsx'

type Explanation = Schemas['Explanation']

const PATH = '/v1/scores/{request_id}/explanation'
/** Longer lists are cut: a card can have thousands of bins. */
const CHANGES_MAX = 12
const OTHER_BINS_MAX = 500

interface ExplanationProps {
  readonly requestId: string
  /** Index of the record in a batch. */
  readonly record: number
  readonly scoredAt: string
  /** The card of the model that answered. */
  readonly spec: Schemas['ScorecardSpec']
}

/** Why a score is what it is, a letter about it, and what would have changed it. */
export function ExplanationPanels({ requestId, record, scoredAt, spec }: ExplanationProps) {
  const [{ lang = 'en', cutoff = '' }, change] = useAddress()
  const goal = cutoff === '' ? null : readNumber(cutoff)
  const query = { lang, record, cutoff: goal ?? undefined }
  const params = { path: { request_id: requestId }, query }
  const loaded = useAnswer(PATH, params, { placeholderData: keepPreviousData })
  return (
    <Loaded of={loaded}>
      {(found) => {
        const labels = new Map(found.features.map(({ name, label }) => [name, label]))
        const fallback = featureNames(spec)
        const nameFeature = (name: string) => labels.get(name) ?? fallback(name)
        return (
          <>
            <Panel title="Why this score" actions={<LanguageChoice spec={spec} />}>
              <Reasons
                found={found}
                nameFeature={nameFeature}
                readText={(code) => codeText(spec, code, lang)}
              />
            </Panel>
            {found.reasons !== null && (
              <LetterPanel
                facts={{
                  score: found.score,
                  scoredAt,
                  lang,
                  range: found.score_range,
                  reasons: found.reasons.map(({ text }) => text),
                }}
              />
            )}
            <Panel title="What would have changed it">
              <Goal cutoff={cutoff} choose={(text) => change({ cutoff: text })} />
              <Changes found={found} nameFeature={nameFeature} />
              <OtherBins found={found} nameFeature={nameFeature} />
            </Panel>
          </>
        )
      }}
    </Loaded>
  )
}

function Reasons(props: {
  found: Explanation
  nameFeature: FeatureName
  readText: (code: string) => string
}) {
  const { found, nameFeature, readText } = props
  const { reasons, features, score, reason_method: method, key_factors: factors } = found
  if (reasons === null) {
    return (
      <Empty
        title="No reasons for this score"
        hint="The card declares none, or needed a baseline and had none in force at the time."
      />
    )
  }
  const compared = features.filter(({ baseline_points: points }) => points !== null)
  const differences = compared.map((one) => one.points - (one.baseline_points ?? 0))
  const start = differences.reduce((sum, one) => sum - one, score)
  const isWhole = reasons.every(({ distance }) => Number.isInteger(distance))
  const write = isWhole ? whole : twoDecimals
  const bins = new Map(features.map((one) => [one.name, one.bin && binWords(one.bin)]))
  return (
    <>
      {reasons.length === 0 ? (
        <Empty
          title="No adverse factor"
          hint="No factor is adverse enough for a reason by the card’s rules. A decline needs the reason of whoever declined."
        />
      ) : (
        <PlainTable
          caption="Reasons"
          head={['Reason', 'Distance in points', 'From', 'Code']}
          figures={[1]}
          rows={reasons.map((one) => [
            <bdi key="text">
              {one.rank}. {one.text}
            </bdi>,
            write(one.distance),
            one.features
              .map((name) => `${nameFeature(name)}: ${bins.get(name) ?? 'missing or in no bin'}`)
              .join('; ') || NONE,
            <code key="code">{one.code}</code>,
          ])}
        />
      )}
      {found.reasons_truncated === true && (
        <p className="muted">A reason as large as the last one is left out.</p>
      )}
      {factors.length > 0 && (
        <p className="muted">Key factors: {factors.map(readText).join('; ')}.</p>
      )}
      {method !== null && <p className="muted">Compared with: {methodWords(method)}.</p>}
      <details>
        <summary>Against the baseline</summary>
        <Waterfall
          caption="Points against the baseline"
          base={start}
          // Features that can't be a reason have no baseline: the start has their own points.
          start={
            compared.length === features.length
              ? 'Total of the baseline'
              : 'Baseline, and the features without one'
          }
          score={score}
          detail="Points, baseline"
          steps={compared.map((one, at) => ({
            name: nameFeature(one.name),
            points: differences[at] ?? 0,
            detail: `${signed(one.points)}, ${signed(one.baseline_points)}`,
          }))}
        />
      </details>
    </>
  )
}

function Goal({ cutoff, choose }: { cutoff: string; choose: (text: string) => void }) {
  const [text, setText] = useState(cutoff)
  const isWrong = text.trim() !== '' && readNumber(text) === null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isWrong) choose(text.trim())
  }
  return (
    <form className="filters" onSubmit={submit}>
      <TextInput
        label="Score to reach"
        description="Empty: the cut-off of deployment or baseline, else the next better grade"
        inputMode="decimal"
        error={isWrong && 'Not a number'}
        {...typed(text, setText)}
      />
      <Button type="submit" variant="default">
        Show
      </Button>
    </form>
  )
}

function Changes({ found, nameFeature }: { found: Explanation; nameFeature: FeatureName }) {
  const { need, target, single, least_set: leastSet } = found.counterfactuals
  if (target === null) return <p className="muted">There is no better grade to reach.</p>
  const goal =
    target.cutoff === undefined ? `grade ${target.risk_grade ?? NONE}` : number(target.cutoff)
  if (need === 0) return <Notice kind="good">The score reaches {goal}.</Notice>
  const changes = leastSet ?? single.slice(0, CHANGES_MAX)
  const away = `The score is ${number(need)} ${need === 1 ? 'point' : 'points'} away from ${goal}`
  if (changes.length === 0) {
    return <p>{away}, and no change of the features that somebody can change reaches it.</p>
  }
  const lead = leastSet === null ? 'Each of these changes alone' : 'These changes together'
  const more = single.length - CHANGES_MAX
  return (
    <>
      <p>
        {away}. {lead} would have reached it:
      </p>
      <PlainTable
        caption="What would have changed the score"
        head={['Feature', 'If it were', 'Points nearer']}
        figures={[2]}
        rows={changes.map(({ feature, bin, gain }) => [
          nameFeature(feature),
          binWords(bin),
          number(gain),
        ])}
      />
      {leastSet === null && more > 0 && (
        <p className="muted">And {whole(more)} more, which gain more than they need.</p>
      )}
    </>
  )
}

function OtherBins({ found, nameFeature }: { found: Explanation; nameFeature: FeatureName }) {
  const { sensitivity, score } = found
  if (sensitivity === null) {
    return (
      <p className="muted">
        The score with each other bin is not listed: the card has more than {whole(LISTED_BINS_MAX)}{' '}
        bins.
      </p>
    )
  }
  const rows = sensitivity.flatMap(({ feature, bins }) => bins.map((bin) => ({ feature, ...bin })))
  if (rows.length === 0) return null
  return (
    <details>
      <summary>The score with each other bin</summary>
      <PlainTable
        caption="The score with each other bin"
        head={['Feature', 'If it were', 'Points', 'Score', 'Change', 'Grade']}
        figures={[2, 3, 4]}
        rows={rows
          .slice(0, OTHER_BINS_MAX)
          .map((row) => [
            nameFeature(row.feature),
            binWords(row),
            signed(row.points),
            number(row.score),
            signed(row.score - score),
            row.risk_grade ?? NONE,
          ])}
      />
      {rows.length > OTHER_BINS_MAX && (
        <p className="muted">
          The first {OTHER_BINS_MAX} of {whole(rows.length)} bins.
        </p>
      )}
    </details>
  )
}
