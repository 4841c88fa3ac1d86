import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/types.ts'
import { Copy } from '../../ui/facts.tsx'
import { withVersion } from '../../ui/names.ts'
import { Notice } from '../../ui/states.tsx'

/** @param leave closes the dialog that shows it, which another model of the same page would keep */
export function Registered(props: { result: Schemas['DeployResult']; leave?: () => void }) {
  const { result, leave } = props
  const { deployment, spec_warnings: warnings = [] } = result
  return (
    <Notice kind="good">
      <p>
        <strong>
          <bdi>{withVersion(result.name, result.version)}</bdi>
        </strong>{' '}
        is registered{deployment === null ? '.' : ' and answers.'}
      </p>
      <p>
        <Link to={`/models/${result.model_id}` as string} onClick={leave}>
          See the model
        </Link>
        {deployment && (
          <>
            {' · '}
            <Link to={`/deployments/${deployment.slug}` as string}>See the deployment</Link>
            {' · '}
            <Link to={`/deployments/${deployment.slug}/try` as string}>Try it</Link>
          </>
        )}
      </p>
      {deployment && (
        <p>
          <code>{deployment.endpoint}</code>{' '}
          <Copy text={deployment.endpoint} label="Copy the address" />
        </p>
      )}
      {warnings.length > 0 && (
        <>
          <p>Worth a look:</p>
          <ul>
            {warnings.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  )
}
