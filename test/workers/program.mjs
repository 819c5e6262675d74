// A program of threads that does what it is told.
import { parentPort, workerData } from 'node:worker_threads'

let stopped = () => {}
parentPort.on('message', async message => {
  if (message === 'stop') stopped()
  else if (message === 'end') parentPort.close()
  else if (message.task === 'die') process.exit(3)
  else if (message.task === 'throw') throw new Error('no thread can go on')
  else if (message.task === 'refuse') parentPort.postMessage({ refusal: { code: 'storage', message: 'no disk' } })
  else if (message.task === 'fail') parentPort.postMessage({ fault: new Error('a mistake') })
  else if (message.task === 'wait') {
    await new Promise(resolve => {
      stopped = resolve
    })
    parentPort.postMessage({ fault: new Error('stopped') })
  } else parentPort.postMessage({ result: `${workerData} ${message.task}` })
})
