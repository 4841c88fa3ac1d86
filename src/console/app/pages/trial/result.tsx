import type { Schemas } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { Facts } from '../../ui/facts.tsx'
import { NONE, number, percent, signed } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Panel } from '../../ui/page.tsx'
import { PlainTable } from '../../ui/plain-table.tsx'
import { Notice } from '../../ui/states.tsx'
import { useAbout } from '../deployment/frame.tsx'
import type { Texts } from './remarks.ts'

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
