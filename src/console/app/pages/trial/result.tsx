import { countEdits, EDITS_MAX } from '../../../../platform/misspelt.ts'
import type { Schemas } from '../../api/types.ts'
import { type FeatureName, listCategories, rangeEnds } from '../../ui/card.ts'
import { Facts } from '../../ui/facts.tsx'
import { NONE, number, percent, readNumber, signed } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Panel } from '../../ui/page.tsx'
import { Notice } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { useAbout } from '../deployment/frame.tsx'

export function Result({ result, texts }: { result: Schemas['TrialResult']; texts: Texts }) {
  const { champion, featureName } = useAbout()
  const missing = result.warnings.flatMap((one) =>
    typeof one === 'string' && one.startsWith(MISSING) ? [one.slice(MISSING.length)] : [],
  )
  const others = result.warnings.filter(
    (one) => typeof one !== 'string' || !one.startsWith(MISSING),
  )
  const all = champion.spec.features.length
  const { reasons = [], models } = result
  return (
    <Panel title="Result">
      <Facts
        facts={[
          ['Score', number(result.score)],
          ['Grade', result.risk_grade ?? NONE],
          ['Probability of default', percent(result.pd)],
          ['Answered by', withVersion(result.model_name, result.model_version)],
        ]}
      />
      {missing.length > 0 && (
        <Notice kind="watch">
          {missing.length} of {all} values are missing: {missing.map(featureName).join(', ')}.
        </Notice>
      )}
      {others.map((warning) => (
        <Notice key={warningText(warning, featureName)} kind="watch">
          {warningText(warning, featureName)}
        </Notice>
      ))}
      {models.length > 1 && (
        <PlainTable
          caption="All models of the deployment"
          head={['Model', 'Role', 'Score', 'Grade', 'PD']}
          figures={[2, 4]}
          rows={models.map((one) => [
            withVersion(one.model_name, one.model_version),
            one.role,
            one.role === 'champion'
              ? number(one.score)
              : `${number(one.score)} (${signed(one.score - result.score)})`,
            one.risk_grade ?? NONE,
            percent(one.pd),
          ])}
        />
      )}
      {reasons.length > 0 && (
        <>
          <h3>Reasons</h3>
          <ol>
            {reasons.map(({ code, text, distance }) => (
              <li key={code}>
                {text} <span className="muted">{number(distance)} points short</span>
              </li>
            ))}
          </ol>
        </>
      )}
      <PlainTable
        caption="What made the score"
        head={['Feature', 'Value', 'Points']}
        figures={[2]}
        rows={[
          ['Base points', '', number(champion.spec.base_points)],
          ...Object.entries(result.contributions)
            .toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a))
            .map(([name, points]) => [featureName(name), texts[name] || 'missing', signed(points)]),
          [<strong key="score">Score</strong>, '', number(result.score)],
        ]}
      />
    </Panel>
  )
}

const MISSING = 'missing_feature: '

function warningText(warning: Schemas['Warning'], featureName: FeatureName): string {
  if (typeof warning === 'string') return warning
  if (warning.type === 'no_bin_match') {
    return `${featureName(warning.variable)}: “${String(warning.value)}” is in no bin and adds 0 points.`
  }
  return warning.message
}

type Feature = Schemas['Feature']

/** Typed values, by feature; an empty text is a missing value. */
export type Texts = Readonly<Record<string, string>>

/** Number of times the width of all ranges a number may lie outside of them without a remark. */
const FAR = 5

export function remarkOn(feature: Feature, text: string): string | null {
  return feature.type === 'numeric'
    ? remarkOnNumber(feature, text)
    : remarkOnCategory(feature, text)
}

function remarkOnNumber(feature: Feature, text: string): string | null {
  const value = readNumber(text)
  if (value !== null && /^\s*-?[1-9]\d{0,2}\.\d{3}\s*$/.test(text)) {
    return `Read as ${number(value)}; ${text.replace('.', '').trim()} is without the point.`
  }
  const ends = rangeEnds(feature)
  const [low, high] = [ends[0], ends.at(-1)]
  if (value === null || low === undefined || high === undefined) return null
  const width = high - low || Math.abs(high) || 1
  const isBelow = value < low - FAR * width || (value < 0 && low >= 0)
  if (!isBelow && value <= high + FAR * width) return null
  return `Far from what the card divides, ${number(low)} to ${number(high)}: is it right?`
}

function remarkOnCategory(feature: Feature, text: string): string | null {
  const categories = listCategories(feature)
  if (categories.includes(text)) return null
  const meant = meantCategory(categories, text)
  return meant === null ? 'It is in no bin.' : `It is in no bin. Did you mean “${meant}”?`
}

/** The category that a text differs from by case, blanks or a slip; null if there is none. */
function meantCategory(categories: readonly string[], text: string): string | null {
  const plain = (value: string) => value.trim().toLowerCase()
  const distances = categories.map((value) => ({ value, d: countEdits(plain(value), plain(text)) }))
  const [nearest] = distances.toSorted((a, b) => a.d - b.d)
  return nearest !== undefined && nearest.d <= EDITS_MAX ? nearest.value : null
}

/** An example that falls into one bin after another. */
export function findExample(feature: Feature, at: number): string {
  if (feature.type === 'categorical') {
    const categories = listCategories(feature)
    return categories[at % Math.max(1, categories.length)] ?? ''
  }
  const ends = rangeEnds(feature)
  const [low, high] = ends.slice(at % Math.max(1, ends.length))
  if (low === undefined) return ''
  if (high === undefined) return String(low + 1)
  const middle = (low + high) / 2
  return String(Math.round(middle) < high && Math.round(middle) > low ? Math.round(middle) : middle)
}
