// A program of threads that does what it is told.
import { parentPort, threadId, workerData } from 'node:worker_threads'

let stopped = () => {}
parentPort.on('message', async message => {
  if ('stop' in message) return stopped()
  const { id, task } = message
  if (task === 'die') process.exit(3)
  if (task === 'throw') throw new Error('no thread can go on')
  const refusal = {
    kind: 6,
    code: 'storage',
    properties: { name: 'StorageError', message: 'no disk', words: 'no disk' },
    payload: {},
  }
  if (task === 'refuse') parentPort.postMessage({ id, refusal })
  else if (task === 'fail') parentPort.postMessage({ id, fault: new RangeError('a mistake') })
  else if (task === 'who') parentPort.postMessage({ id, result: threadId })
  else if (task === 'wait') {
    await new Promise(resolve => {
      stopped = resolve
    })
    parentPort.postMessage({ id, fault: new Error('stopped') })
  } else if (typeof task === 'number') {
    // Later ones are sooner done.
    await new Promise(resolve => setTimeout(resolve, 20 - task))
    parentPort.postMessage({ id, result: `${workerData.data} ${task}` })
  } else parentPort.postMessage({ id, result: `${workerData.data} ${task}` })
})
